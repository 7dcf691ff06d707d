"""Output files and folders of commands."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from fastdispatch import _core
from fastdispatch._core import Error


def write(path: str | os.PathLike[str], content: bytes) -> None:
    """Write ``content`` to ``path`` atomically: a reader sees either the old file or the new one."""
    _core.save(path, (content,))


def make_folder(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Error(f"{path}: cannot make the folder: {error.strerror}") from None


@contextmanager
def new_folder(path: Path) -> Iterator[None]:
    """Make a folder for the files written within the block; if the block fails, remove new folders that are empty."""
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
    """Raise Error if a file cannot be written to ``path``: called before long work."""
    target = Path(path)
    error = errno.EISDIR if target.is_dir() else 0 if target.parent.is_dir() else errno.ENOENT
    if not error and not os.access(target.parent, os.W_OK):
        error = errno.EACCES
    if error:
        raise Error(f"{target}: cannot write: {os.strerror(error)}")


def check_folder(path: Path) -> None:
    """Raise Error if a folder cannot be made at ``path``."""
    there = next((each for each in (path, *path.absolute().parents) if each.exists()), path)
    if not there.is_dir() or not os.access(there, os.W_OK):
        error = errno.EACCES if there.is_dir() else errno.ENOTDIR
        raise Error(f"{path}: cannot make the folder: {os.strerror(error)}")
