"""The recordings of a run directory: those listed in manifest.json, without one all, and those of ``machine*`` folders.

A file that is skipped gets a line, which becomes a note of the first rank.
"""

import errno
import json
import os
import stat
from collections.abc import Iterator

from fastdispatch._core import Error
from fastdispatch.files.regular import open_regular
from fastdispatch.files.run_directory import MANIFEST

#: A path; of a directory also its files, the preferred ones first, and lines about others.
RunSource = str | tuple[str, list[str], list[str]]

_LARGEST = 64 << 20  # bytes of a manifest
_WORLD = 92  # offset in a recording (docs/formats/recording.md)


def source_of(path: str | os.PathLike[str]) -> RunSource:
    """Return a file as it is. Raises Error for a path that does not exist or a directory that cannot be read."""
    place = os.fsdecode(path)
    try:  # one look: a recording that starts makes the directory
        is_folder = stat.S_ISDIR(os.stat(place).st_mode)
    except (OSError, ValueError) as error:
        raise Error(f"{place}: {getattr(error, 'strerror', error)}") from None
    if not is_folder:
        return place
    files, notes = found_in(place)
    return place, sorted(files, key=_preference), notes


def recordings(path: str | os.PathLike[str]) -> list[str]:
    """Return the recordings of a run directory by name; empty for other inputs."""
    try:
        return sorted(found_in(os.fsdecode(path))[0])
    except Error:
        return []


def found_in(folder: str) -> tuple[list[str], list[str]]:
    """Return the recordings of a folder, without any the dumps of ranks, and lines about others."""
    notes: list[str] = []
    files = list(_files(folder, notes, nested=False, dumps=False))
    if not files and not notes:
        files = list(_files(folder, notes, nested=False, dumps=True))
    return files, notes


def _files(folder: str, notes: list[str], nested: bool, dumps: bool) -> Iterator[str]:
    try:
        names = sorted(os.listdir(folder), key=os.fsencode)
    except OSError as error:
        raise Error(f"{folder}: {error.strerror}") from None
    listed = _listed(f"{folder}/{MANIFEST}", notes)
    for name in names:
        path = f"{folder}/{name}"
        if name.startswith("rank") and name.endswith(".json") if dumps else name.endswith(".fd") and name != ".fd":
            if listed and name not in listed:
                notes.append(f"skipped: {path}: not named in manifest.json, so of an earlier run")
            else:
                yield path
        elif not nested and name.startswith("machine") and os.path.isdir(path):
            yield from _files(path, notes, True, dumps)


def _listed(path: str, notes: list[str]) -> set[str]:
    """Return the files that a manifest lists; empty if it lists none or does not exist. One that cannot be read gets a
    line and is ignored."""
    try:
        with open_regular(path) as file:
            text = file.read(_LARGEST + 1)
        if len(text) > _LARGEST:
            raise OSError(errno.EFBIG, f"larger than {_LARGEST} bytes")
        manifest = json.loads(text)
    except FileNotFoundError:
        return set()
    except OSError as error:
        notes.append(f"skipped: {path}: {error.strerror}, all recordings beside it are read")
        return set()
    except (ValueError, RecursionError):
        notes.append(f"skipped: {path}: not valid JSON, all recordings beside it are read")
        return set()
    known = isinstance(manifest, dict) and manifest.get("format") == "fastdispatch.run"
    ranks = manifest.get("ranks") if known else None
    names = (each.get("file") for each in (ranks if isinstance(ranks, list) else ()) if isinstance(each, dict))
    return {name for name in names if isinstance(name, str)}


def _preference(path: str) -> tuple[int, int, bytes]:
    """Order recordings of one rank, the preferred one first: a larger world size (it is unknown if the launcher spawned
    the ranks), then ``rank00000.fd`` before ``rank00000.4711.fd``, which a second process of the same rank wrote."""
    try:
        with open_regular(path) as file:
            head = file.read(_WORLD + 4)
    except OSError:
        head = b""
    name = os.fsencode(path)
    world = int.from_bytes(head[_WORLD:], "little") if head.startswith(b"fastdisp") else 0
    return -world, len(name), name
