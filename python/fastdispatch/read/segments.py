"""Segments of rotated recordings: closed files beside the current one (docs/formats/run-directory.md)."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from fastdispatch.files import run_directory

_SEGMENT = re.compile(rf"(rank.+\.fd){re.escape(run_directory.SEGMENT)}\d+", re.ASCII)
_HEADER = 472


class _Head(NamedTuple):
    id: bytes
    segment: int


def with_segments(paths: Sequence[str | os.PathLike[str]]) -> list[str | os.PathLike[str]]:
    """Return paths and, for each recording or run directory, the closed segments of its recordings."""
    found: list[str | os.PathLike[str]] = []
    for path in paths:
        if os.path.isdir(path):
            found += _of_folder(path)
        else:
            closed = _of_recording(Path(path))
            found += [*([path] if os.path.lexists(path) or not closed else []), *closed]
    return found


def _head(path: Path) -> _Head | None:
    """Return the identity of a segment; None of other files."""
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:  # a FIFO is empty
            head = file.read(_HEADER)
    except (OSError, ValueError):  # a name with a null character
        return None
    if len(head) < _HEADER or not head.startswith(b"fastdisp"):
        return None
    segment = int.from_bytes(head[468:472], "little")
    return _Head(head[32:48], segment) if segment else None


def _of_recording(path: Path) -> list[Path]:
    """Return the closed segments of a recording; none of a segment itself."""
    if not path.name.endswith(".fd"):
        return []
    head = _head(path)
    if (head is None and os.path.lexists(path)) or (head is not None and head.segment == 1):
        return []
    return _closed(path, list(_beside(path.parent, path.name)))


def _closed(recording: Path, segments: Sequence[Path]) -> list[Path]:
    """Return the closed segments of a recording. One whose process was killed between two segments has closed ones
    only: those of the newest one."""
    head = _head(recording)
    if head is not None:
        return [each for each in segments if _belongs(each, head)]
    newest = max(segments, key=lambda each: each.stat().st_mtime_ns, default=None)
    head = _head(newest) if newest is not None else None
    if head is None:
        return []
    gone = not os.path.exists(recording)
    return [each for each in segments if _belongs(each, head) or (gone and _head(each) == head)]


def _belongs(path: Path, head: _Head) -> bool:
    other = _head(path)
    return other is not None and other.id == head.id and other.segment != head.segment


def _beside(folder: Path, recording: str = "") -> Iterator[Path]:
    """Yield the segments in a folder, of one recording if it is given."""
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return
    for name in names:
        match = _SEGMENT.fullmatch(name)
        if match and recording in ("", match[1]):
            yield folder / name


def _of_folder(path: str | os.PathLike[str]) -> list[str | os.PathLike[str]]:
    """Return the folder, unless it has closed segments only, and the closed segments of its recordings."""
    folder = Path(path)
    closed: dict[str, list[Path]] = {}
    for each in [*_beside(folder), *(one for machine in folder.glob("machine*") for one in _beside(machine))]:
        closed.setdefault(str(each).rpartition(run_directory.SEGMENT)[0], []).append(each)
    if not closed:
        return [path]
    named = {str(folder / entry["file"]) for entry in run_directory.entries(folder)}
    found: list[str | os.PathLike[str]] = []
    for recording, segments in closed.items():
        if named and recording not in named and Path(recording).parent == folder:
            continue
        found += _closed(Path(recording), segments)
    others = any(name.endswith(".fd") for name in os.listdir(folder)) or any(folder.glob("machine*/*.fd"))
    return [path, *found] if others or not found else found
