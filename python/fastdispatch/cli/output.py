"""Files that a command writes."""

from __future__ import annotations

import os
from pathlib import Path

from fastdispatch import Error


def write(path: str | os.PathLike[str], content: bytes) -> None:
    """Put ``content`` at ``path`` at once: a reader sees the old file or the new one and nothing between."""
    target = Path(path)
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        temporary.write_bytes(content)
        os.replace(temporary, target)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise Error(f"{target}: cannot write: {error.strerror}") from None


def make_folder(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Error(f"{path}: cannot make the folder: {error.strerror}") from None
