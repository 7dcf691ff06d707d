"""Input files: only regular ones, opened without waiting."""

import errno
import io
import os
import stat
from typing import BinaryIO

NOT_REGULAR = "not a regular file: save its contents to a file first"


def open_regular(path: str | os.PathLike[str]) -> BinaryIO:
    """Open ``path`` for reading. Raises ``OSError`` at once for a FIFO, device or socket, which may have no end or
    block forever."""
    _check(os.stat(path), path)
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        _check(os.fstat(descriptor), path)
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    with open_regular(path) as file:
        return file.read()


def read_text(path: str | os.PathLike[str], errors: str = "strict") -> str:
    """Read UTF-8 text with any line endings."""
    with io.TextIOWrapper(open_regular(path), encoding="utf-8", errors=errors) as file:
        return file.read()


def _check(found: os.stat_result, path: str | os.PathLike[str]) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, NOT_REGULAR, os.fspath(path))
