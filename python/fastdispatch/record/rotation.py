"""Rotation: a long recording as a series of files, its segments (docs/formats/run-directory.md)."""

from __future__ import annotations

import atexit
import contextlib
import math
from collections.abc import Container, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastdispatch._core import Error, Session
from fastdispatch.files import run_directory
from fastdispatch.files.run_directory import SEGMENT
from fastdispatch.record import children
from fastdispatch.record.environment import torch_version

if TYPE_CHECKING:
    from fastdispatch.record.callgraph import CallGraph

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


class Rotation:
    """When to begin the next segment, in seconds, and how many bytes of closed ones to keep (0: all)."""

    def __init__(self, interval: str | float, keep_mb: int) -> None:
        self.seconds = _seconds(interval)
        self.bytes = keep_mb << 20
        self.closed = 0


def rotation_of(given: Mapping[str, Any], measures: Container[str]) -> Rotation | None:
    """Parse the arguments of CallGraph; None without rotation."""
    interval, keep_mb = given["rotate"], given["keep_mb"]
    if keep_mb < 0:
        raise Error(f"keep_mb={keep_mb}: must not be negative")
    if not interval:
        if keep_mb:
            raise Error("keep_mb limits the files of a rotated recording: add rotate, e.g. rotate='1h'")
        return None
    of_one_file = {"out=None": given["out"] is None, "a timeline": given["timeline"], "jobs": given["jobs"]}
    of_one_file |= {"et": given["et"], "measure='memory'": "memory" in measures}
    for name, value in of_one_file.items():
        if value:
            raise Error(f"rotate and {name}: a rotated recording cannot have both: give only one of them")
    return Rotation(interval, keep_mb)


def _seconds(interval: str | float) -> float:
    number, unit = (interval[:-1], interval[-1:]) if isinstance(interval, str) else (str(interval), "s")
    if unit.isdigit():
        number, unit = number + unit, "s"
    try:
        seconds = float(number) * _UNITS[unit]
    except (KeyError, ValueError):
        seconds = math.nan
    if not 0 < seconds < math.inf:
        raise Error(f"rotate={interval!r}: expected a time, e.g. 1h, 30m or 90s")
    return seconds


def next_segment(graph: CallGraph) -> None:
    """Close the segment of a recording and begin the next: called at the end of a step, with the hooks disabled.

    If the next file cannot be created, the recording ends with this segment.
    """
    file, old, rotation = graph._file, graph._session, graph._rotation
    if file is None or old is None or rotation is None:
        return
    old.stop()
    if graph._runtime is not None:
        graph._note(graph._runtime.facts(old))
        graph._runtime.carry(old)
    old.finish()
    rotation.closed += 1
    name = f"{file.name}{SEGMENT}{rotation.closed:05d}"
    closed = False
    try:
        _close(file, name)
        closed = True
        graph._session = graph._open_segment(old)
        _begin(graph, graph._session)
    except Exception as error:  # the program continues without a recording
        _end(graph, name if closed and graph._session is old else "")
        graph._say(f"the recording ended: the next segment could not be created: {error}")
        return
    _remove_others(file)
    _prune(file, rotation.bytes)


def _begin(graph: CallGraph, session: Session) -> None:
    """Start the session of a segment as the first one was started."""
    graph._attach(session)
    graph._note_start()
    operators = graph._operators
    if operators is not None and operators.source == "record":
        graph._operators = None  # of the session before
    elif operators is not None:
        graph._note({"ops": operators.source, "ops_reason": operators.reason, "torch": torch_version()})
    graph._look()
    session.start()


def _close(file: run_directory.RecordingFile, name: str) -> None:
    if file.local is not None:
        file.local.move(file.local_name, file.folder, name)
    else:
        file.folder.move(file.name, file.folder, name)


def _end(graph: CallGraph, last: str) -> None:
    """End a recording without a next segment; the closed one of this name becomes the recording again."""
    from fastdispatch.record import callgraph

    if graph._operators is not None:
        graph._operators.detach()
    callgraph._current = None
    children.announce(None, None)
    atexit.unregister(graph._stop_at_exit)
    file, session = graph._file, graph._session
    assert file is not None and session is not None
    with contextlib.suppress(Error):
        session.stop()
        session.finish()
        if file.local is None:
            if last:
                file.folder.move(last, file.folder, file.name)
            graph._settle(session)


def settle(file: run_directory.RecordingFile, before: str) -> None:
    """Rename the segments of a finished recording with it, and remove those of an earlier one."""
    id = run_directory.recording_id(file.folder, file.name)
    if before != file.name:
        for name in run_directory.segments(file.folder, before):
            if run_directory.recording_id(file.folder, name) == id:
                file.folder.move(name, file.folder, file.name + name.removeprefix(before))
    _remove_others(file)


def _remove_others(file: run_directory.RecordingFile) -> None:
    """Remove segments of an earlier recording, if it has been replaced: no previous recording is left."""
    found = run_directory.segments(file.folder, file.name)
    folder = file.folder
    here = folder if file.local is None else file.local
    id = run_directory.recording_id(here, file.name if file.local is None else file.local_name)
    id = id or run_directory.recording_id(folder, file.name)
    try:
        if not found or id is None or folder.writer(file.name + run_directory.PREVIOUS) is not None:
            return
        for name in found:
            if run_directory.recording_id(folder, name) != id and folder.writer(name) == "gone":
                folder.remove(name)
    except Error:
        return


def _prune(file: run_directory.RecordingFile, most: int) -> None:
    """Remove the oldest segments that exceed the bound."""
    left = most
    for name in reversed(run_directory.segments(file.folder, file.name) if most else []):
        try:
            left -= (Path(file.folder.path) / name).stat().st_size
            if left < 0 and file.folder.writer(name) == "gone":
                file.folder.remove(name)
        except (Error, OSError):
            continue
