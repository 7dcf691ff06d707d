"""Inputs of ``load``: recordings, dumps, and the files of run directories, read and merged."""

import os
from collections.abc import Sequence
from typing import Literal, NamedTuple

from fastdispatch import _core
from fastdispatch._core import Error
from fastdispatch.files.regular import open_regular
from fastdispatch.files.run_sources import source_of
from fastdispatch.read.dump_tables import load_dump

PathLike = str | os.PathLike[str]
Steps = Literal["settled"] | tuple[int, int] | None
ReadPart = Literal["totals", "open_calls"] | None

_MAGIC = b"fastdisp"

#: From this number of recordings on, two threads read parts of them, which live views need as often as possible.
_MANY = 32


class _Options(NamedTuple):
    timeline: bool
    steps: Steps
    only: ReadPart


def read_inputs(
    paths: Sequence[PathLike], *, timeline: bool = False, steps: Steps = None, only: ReadPart = None
) -> _core.Trace:
    """Read and merge inputs, and select steps. Raises Error for others, for duplicate ranks and ranks of different
    runs, and MemoryError."""
    options = _Options(timeline, steps, only)
    _core.Trace(**options._asdict())  # ArgumentError, which is not of one input
    try:
        whole = _read(paths[0], options) if len(paths) == 1 else _merged(paths, options)
        whole.finish(steps is not None)
    except MemoryError as error:
        inputs = os.fspath(paths[0]) if len(paths) == 1 else "reading the recordings"
        raise error if ":" in str(error) else MemoryError(f"{inputs}: out of memory") from None
    if isinstance(steps, tuple):
        _check_range(whole)
    return whole


def _merged(paths: Sequence[PathLike], options: _Options) -> _core.Trace:
    if options.only and len(paths) >= _MANY:
        from concurrent.futures import ThreadPoolExecutor

        half = len(paths) // 2
        try:
            with ThreadPoolExecutor(1) as other:
                second = other.submit(_one_by_one, paths[half:], options)
                whole = _one_by_one(paths[:half], options)
                second.result().finish()
                whole.take(second.result(), "", options.only == "totals")
                return whole
        except Error:
            pass  # found again, with the right names
    return _one_by_one(paths, options)


def _one_by_one(paths: Sequence[PathLike], options: _Options) -> _core.Trace:
    whole = _core.Trace()
    for path in paths:
        whole.take(_read(path, options), path, options.only == "totals")
    return whole


def _read(path: PathLike, options: _Options) -> _core.Trace:
    """Return an unfinished trace."""
    source = source_of(path)
    return _read_file(source, options) if isinstance(source, str) else _read_directory(*source, options)


def _read_directory(folder: str, files: list[str], notes: list[str], options: _Options) -> _core.Trace:
    """Skip unreadable files and duplicate ranks, with a line in the notes of the first rank."""
    whole = _core.Trace()
    for file in files:
        try:
            whole.take(_read_file(file, options), file)
        except Error as error:
            notes.append(f"skipped: {error}")
    ranks = whole.columns("rank")["rank"]
    if not ranks:
        raise Error(f"{folder}: {notes[0] if notes else 'no recording (*.fd) in this directory'}")
    if notes:
        first = ranks.index(min(ranks))
        lines = whole.columns("notes", first)["note"]
        lines += [os.fsencode(note).decode(errors="replace") for note in notes]
        whole.replace([("notes", first, len(lines), {"note": lines})])
    return whole


def _read_file(path: str, options: _Options) -> _core.Trace:
    try:
        with open_regular(path) as file:
            head = file.read(64)
    except (OSError, ValueError):
        head = _MAGIC  # the reader of recordings reports it
    if head.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{"):
        dump = load_dump(path)
        if isinstance(options.steps, tuple):
            raise Error(f"{path}: a dump has all steps and the settled ones: give the recording to select others")
        return dump
    if not head.startswith(_MAGIC):
        fault = "neither a recording (.fd) nor a dump (.json) of fastdispatch" if head else "the file is empty"
        raise Error(f"{path}: {fault}")
    return _core.Trace(path, **options._asdict())


def _check_range(trace: _core.Trace) -> None:
    """Raise Error if a rank does not have the requested range."""
    ranks = trace.columns("rank") | trace.columns("ranks")
    for rank, end, steps in zip(ranks["rank"], ranks["to"], ranks["steps"], strict=True):
        if not end:
            fault = "the recording has no snapshots of steps" if steps else "no steps were recorded"
            raise Error(f"rank {rank}: {fault}, so none can be selected")
