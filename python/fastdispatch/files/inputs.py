"""Recordings as inputs of a data set: files, run directories, and paths of any store that fsspec reads."""

import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fastdispatch._core import Error
from fastdispatch.files.run_sources import recordings

#: Names of recordings in a run directory.
_RECORDINGS = "rank*.fd"


@dataclass(frozen=True)
class Source:
    """A recording that has not been read yet."""

    path: str
    bytes: int
    changed: int  # nanoseconds since 1970; 0: unknown


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
        sources = _remote(path) if is_remote(path) else _local(path)
        if not sources:
            raise Error(f"{path}: no recording ({_RECORDINGS}) in this directory")
        found |= {source.path: source for source in sources}
    return sorted(found.values(), key=lambda source: source.path)


def _local(path: str) -> list[Source]:
    try:
        return [_source(Path(file)) for file in (recordings(path) if os.path.isdir(path) else [path])]
    except OSError as error:
        raise Error(f"{path}: {error.strerror}") from None


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
        names = store.glob(folder) if folder else [inside]
        return [Source(store.unstrip_protocol(name), int(store.info(name)["size"]), 0) for name in names]
    except Exception as error:  # stores raise what their libraries raise
        raise Error(f"{path}: {_reason(error)}") from None


def _reason(error: Exception) -> str:
    if isinstance(error, FileNotFoundError):
        return os.strerror(2)
    return (str(error).splitlines() or [type(error).__name__])[0]


@contextmanager
def local_copy(path: str) -> Iterator[str]:
    """Yield a local path with the content of a recording; a file of a store is copied in pieces and removed."""
    if not is_remote(path):
        yield path
        return
    store, inside = _store(path)
    with tempfile.TemporaryDirectory(prefix="fastdispatch-") as folder:
        local = Path(folder) / Path(inside).name
        try:
            with store.open(inside, "rb") as source, local.open("wb") as copy:
                shutil.copyfileobj(source, copy)
        except Exception as error:
            raise Error(f"{path}: {_reason(error)}") from None
        yield str(local)
