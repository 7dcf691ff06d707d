"""Source files of a recording on this machine.

A recording names files without the host-specific part. A local file counts as the recorded one if every function of it
begins on the recorded line with a definition of its name.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path

from fastdispatch.files.regular import read_text
from fastdispatch.read.trace import Trace

_NO_DEFINITION = ("<", "__annotate")


def source_folders(trace: Trace) -> Iterable[Path]:
    """Return folders to search: those of the recorded programs, then the module path of this Python. An anonymous
    recording has none: paths on this machine would name its owner."""
    if any(rank["meta"].get("anonymous") for rank in trace.ranks):
        return
    for rank in trace.ranks:
        folder = Path(str(rank["meta"].get("folder") or "."))
        yield folder
        command = rank["meta"].get("command")
        for word in command if isinstance(command, list) else ():
            if str(word).endswith(".py"):
                yield (folder / str(word)).parent
    yield from (Path(sysconfig.get_paths()[name]) for name in ("stdlib", "purelib", "platlib"))
    yield from (Path(entry) for entry in sys.path if entry and os.path.isdir(entry))


def find_source(file: str, folders: Iterable[Path], functions: list[tuple[str, int]]) -> tuple[Path | None, list[str]]:
    if file.startswith("<"):
        return None, []
    for folder in dict.fromkeys(folders):
        path = folder / file
        try:
            lines = read_text(path, errors="replace").splitlines(keepends=True)
        except (OSError, ValueError):
            continue
        if all(_defines(lines, name, line) for name, line in functions):
            return path.resolve(), lines
    return None, []


def _defines(lines: list[str], name: str, line: int) -> bool:
    """Return whether a function of this name can begin there; a decorated one begins at its first decorator."""
    if line > len(lines):
        return False
    if name.startswith(_NO_DEFINITION):
        return True
    here = lines[line - 1].lstrip()
    return here.startswith("@") or name in here
