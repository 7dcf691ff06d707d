"""Groups that the tasks of a job array have written, until one more call adds them to the data set."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from fastdispatch._core import save
from fastdispatch.dataset import run_manifest
from fastdispatch.dataset.group_writer import WrittenGroup
from fastdispatch.files.inputs import Source

FOLDER = "written"


def _file(folder: Path, name: str) -> Path:
    return folder / FOLDER / f"{name}.json"


def _listed(sources: Sequence[Source]) -> list[list[Any]]:
    return [[source.path, source.bytes, source.changed] for source in sources]


def keep(folder: Path, name: str, sources: Sequence[Source], written: WrittenGroup) -> None:
    """Save the result of a group."""
    _file(folder, name).parent.mkdir(exist_ok=True)
    document = {"sources": _listed(sources), **asdict(written)}
    save(_file(folder, name), (json.dumps(document) + "\n").encode())


def find(folder: Path, name: str, sources: Sequence[Source]) -> WrittenGroup | None:
    """Return the saved result of a group; None if there is no valid one of these inputs as they are."""
    try:
        found = json.loads(_file(folder, name).read_bytes())
        if found["sources"] != _listed(sources):
            return None
        group = run_manifest.group_of(found["group"]) if found["group"] is not None else None
        return WrittenGroup(group, run_manifest.refused_of(found["refused"]))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
