"""Recordings as inputs of a data set: files, run directories, and paths of any store that fsspec reads."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fastdispatch._core import Error
from fastdispatch.files.run_directory import SEGMENT

#: Names of recordings in a run directory.
_RECORDINGS = "rank*.fd"

_PIECE = 1 << 20  # bytes


@dataclass(frozen=True)
class Source:
    """A recording that has not been read yet. The closed segments of a rotated one are part of it."""

    path: str
    bytes: int  # with those of the segments
    changed: int  # nanoseconds since 1970; 0: unknown
    segments: tuple[str, ...] = ()  # their names in a store


def rank_in_header(path: str) -> int | None:
    """Return the rank in the header of a recording (docs/formats/recording.md); None of another file."""
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:  # a FIFO is empty
            header = file.read(92)
    except OSError:
        return None
    return int.from_bytes(header[88:92], "little") if header.startswith(b"fastdisp") and len(header) == 92 else None


def is_remote(path: str) -> bool:
    return "://" in path


def find(paths: Sequence[str]) -> list[Source]:
    """Return the recordings that the paths name, in the order of their names; each once.

    A directory stands for the recordings in it. Raises Error for a path that does not exist, a directory without
    recordings, and a store that cannot be read.
    """
    found: dict[str, Source] = {}
    for path in paths:
        for source in _remote(path) if is_remote(path) else _local(path):
            found.setdefault(source.path, source)
    return sorted(found.values(), key=lambda source: source.path)


def _local(path: str) -> list[Source]:
    try:
        sources = _in_folder(Path(path)) if Path(path).is_dir() else [_source(Path(path))]
    except OSError as error:
        raise Error(f"{path}: {error.strerror}") from None
    if not sources:
        raise Error(f"{path}: no recording ({_RECORDINGS}) in this directory")
    return sources


def _in_folder(folder: Path) -> list[Source]:
    """Return the recordings in a folder. A process that was killed between two segments has left closed ones only."""
    sources = {str(file): _source(file) for file in folder.glob(_RECORDINGS)}
    closed: dict[str, list[Path]] = {}
    for file in folder.glob(f"{_RECORDINGS}{SEGMENT}*"):
        recording, _, number = str(file).rpartition(SEGMENT)
        if number.isdecimal() and recording not in sources:
            closed.setdefault(recording, []).append(file)
    for recording, segments in closed.items():
        facts = [file.stat() for file in segments]
        changed = max(fact.st_mtime_ns for fact in facts)
        sources[recording] = Source(recording, sum(fact.st_size for fact in facts), changed)
    return [sources[name] for name in sorted(sources)]


def _source(file: Path) -> Source:
    """Return the source of a file; for a dangling link, reading reports the error."""
    try:
        stat = file.stat()
    except OSError:
        stat = file.lstat()
    return Source(str(file), stat.st_size, stat.st_mtime_ns)


def _store(path: str) -> tuple[Any, str]:
    try:
        import fsspec
    except ModuleNotFoundError:
        raise Error(f"{path}: paths of a store need fsspec: pip install 'fastdispatch[scale]'") from None
    try:
        store, inside = fsspec.core.url_to_fs(path)
    except (ImportError, ValueError) as error:
        raise Error(f"{path}: {str(error).splitlines()[0]}") from None
    return store, inside


def _remote(path: str) -> list[Source]:
    store, inside = _store(path)
    try:
        folder = f"{inside.rstrip('/')}/{_RECORDINGS}" if store.isdir(inside) else ""
        closed = _segments_of(store, folder or inside)
        names = sorted({*store.glob(folder), *closed}) if folder else [inside]
        sources = [_stored(store, name, closed.get(name, [])) for name in names]
    except Exception as error:  # stores raise what their libraries raise
        raise Error(f"{path}: {_reason(error)}") from None
    if not sources:
        raise Error(f"{path}: no recording ({_RECORDINGS}) in this directory")
    return sources


def _segments_of(store: Any, recordings: str) -> dict[str, list[str]]:
    """Return the closed segments of recordings in a store, by the name of the recording."""
    found: dict[str, list[str]] = {}
    for name in sorted(store.glob(f"{recordings}{SEGMENT}*")):
        recording, _, number = name.rpartition(SEGMENT)
        if number.isdecimal():
            found.setdefault(recording, []).append(name)
    return found


def _stored(store: Any, name: str, segments: list[str]) -> Source:
    size = sum(int(store.info(each)["size"]) for each in _files(store, name, segments))
    return Source(store.unstrip_protocol(name), size, 0, tuple(segments))


def _files(store: Any, name: str, segments: Sequence[str]) -> list[str]:
    """Return the files of a recording in a store; it may have closed segments only."""
    return [*([name] if not segments or store.exists(name) else []), *segments]


def _reason(error: Exception) -> str:
    if isinstance(error, FileNotFoundError):
        return os.strerror(2)
    return (str(error).splitlines() or [type(error).__name__])[0]


@contextmanager
def local_copy(path: str, segments: Sequence[str] | None = None) -> Iterator[str]:
    """Yield a local path with the content of a recording; a file of a store is copied in pieces and removed, with its
    closed segments beside it. ``segments`` are their names in the store, None if they are not known."""
    if not is_remote(path):
        yield path
        return
    store, inside = _store(path)
    with tempfile.TemporaryDirectory(prefix="fastdispatch-") as folder:
        try:
            closed = _segments_of(store, inside).get(inside, []) if segments is None else segments
            for name in _files(store, inside, closed):
                with store.open(name, "rb") as source, (Path(folder) / Path(name).name).open("wb") as copy:
                    shutil.copyfileobj(source, copy, _PIECE)
        except Exception as error:
            raise Error(f"{path}: {_reason(error)}") from None
        yield str(Path(folder) / Path(inside).name)
