"""The folder of a server: the runs in it, and paths that must be inside."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fastdispatch._core import Error
from fastdispatch.dataset import run_manifest

#: Bounds of the search for runs: depth of folders, and number of folders.
_DEEP, _FOLDERS = 4, 5000


class RunFolder:
    def __init__(self, root: str) -> None:
        """Raises Error if ``root`` is not a folder."""
        if not os.path.isdir(root):
            raise Error(f"{root}: not a folder: give the folder with the runs")
        self.root = Path(root).resolve()

    def path(self, text: str) -> str:
        """Return the path of an input. Raises Error if it is outside of the folder, or does not exist."""
        if "\0" in text:
            raise Error("a path must not contain a null character")
        found = (self.root / text).resolve()
        if not found.is_relative_to(self.root):
            raise Error(f"{text}: outside the folder of the server: list_runs lists the runs")
        if not found.exists():
            raise Error(f"{text}: no such file or folder: list_runs lists the runs")
        return os.fspath(found)

    def runs(self) -> list[dict[str, Any]]:
        """Return the run directories and data sets, the latest first."""
        found = [run for folder in self._folders() if (run := self._run(folder)) is not None]
        return sorted(found, key=lambda run: (-run["modified"], run["path"]))

    def _folders(self) -> Iterator[str]:
        for count, (folder, below, _) in enumerate(os.walk(self.root)):
            if count == _FOLDERS:
                return
            yield folder
            depth = len(Path(folder).relative_to(self.root).parts)
            below[:] = sorted(name for name in below if name[0] != ".") if depth < _DEEP else []

    def _run(self, folder: str) -> dict[str, Any] | None:
        try:
            names = os.listdir(folder)
            modified = os.stat(folder).st_mtime
        except OSError:
            return None
        recordings = sum(name.endswith(".fd") for name in names)
        if not recordings and not (run_manifest.NAME in names and run_manifest.is_dataset(folder)):
            return None
        path = os.fspath(Path(folder).relative_to(self.root))
        kind = "run directory" if recordings else "data set"
        return {"path": path, "kind": kind, "recordings": recordings, "modified": round(modified)}
