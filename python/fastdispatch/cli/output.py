"""Files that a command writes."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from fastdispatch import Error, _core


def write(path: str | os.PathLike[str], content: bytes) -> None:
    """Put ``content`` at ``path`` at once: a reader sees the old file or the new one and nothing between."""
    _core.save(path, content)


def make_folder(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Error(f"{path}: cannot make the folder: {error.strerror}") from None


@contextmanager
def new_folder(path: Path) -> Iterator[None]:
    """Make a folder for what is written within the block; when that fails, remove what was made and is empty."""
    made = [each for each in (path, *path.parents) if not each.exists()]
    make_folder(path)
    try:
        yield
    except BaseException:
        for each in made:
            with suppress(OSError):
                each.rmdir()
        raise


def check_place(path: str | os.PathLike[str]) -> None:
    """Before long work: whether a file could be written at ``path``."""
    target = Path(path)
    error = errno.EISDIR if target.is_dir() else 0 if target.parent.is_dir() else errno.ENOENT
    if not error and not os.access(target.parent, os.W_OK):
        error = errno.EACCES
    if error:
        raise Error(f"{target}: cannot write: {os.strerror(error)}")


def check_folder(path: Path) -> None:
    """The same for a folder that is made when there is something to put into it."""
    there = next((each for each in (path, *path.absolute().parents) if each.exists()), path)
    if not there.is_dir() or not os.access(there, os.W_OK):
        error = errno.EACCES if there.is_dir() else errno.ENOTDIR
        raise Error(f"{path}: cannot make the folder: {os.strerror(error)}")
