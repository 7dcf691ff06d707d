"""Put a package into a folder without overwriting edited files.

``.pipeline-convert.json`` has a digest of every file as it was written. A file with another digest was edited;
a file that is not in the list has another origin. Neither is overwritten without force.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

from fastdispatch._core import Error
from fastdispatch.files.output import make_folder, write
from fastdispatch.files.regular import read_bytes

LIST = ".pipeline-convert.json"
SCHEMA = "fastdispatch-package/1"


def save(folder: Path, files: Mapping[str, str], *, force: bool, keep: bool, listed: bool) -> list[str]:
    """Write all files or none; with ``keep`` all except changed ones, which are returned. ``listed``: write the list of
    digests too, which published packages do not have."""
    if folder.exists() and not folder.is_dir():
        raise Error(f"{folder}: cannot write a package: not a folder")
    contents = {name: text.encode() for name, text in files.items()}
    known = _known(folder)
    changed = [name for name, content in contents.items() if _differs(folder / name, content, known.get(name))]
    if force:
        changed = []
    if changed and not keep:
        names = ", ".join(changed)
        raise Error(f"{folder}: {names}: edited, or not written by this command; --force overwrites")
    make_folder(folder)
    for name, content in contents.items():
        if name not in changed:
            write(folder / name, content)
    if listed:
        digests = {name: _digest(content) for name, content in contents.items()}
        write(folder / LIST, json.dumps({"schema": SCHEMA, "files": digests}, indent=1).encode())
    return changed


def _differs(path: Path, content: bytes, digest: str | None) -> bool:
    try:
        there = read_bytes(path)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise Error(f"{path}: cannot read: {error.strerror}") from None
    return there != content and _digest(there) != digest


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _known(folder: Path) -> dict[str, str]:
    try:
        found = json.loads(read_bytes(folder / LIST))
    except (OSError, ValueError, RecursionError):
        return {}
    files = found.get("files") if isinstance(found, dict) else None
    return files if isinstance(files, dict) else {}
