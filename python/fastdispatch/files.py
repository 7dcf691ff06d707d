"""The run directory: where a process records, and the manifest that names the files of one run."""

from __future__ import annotations

import fcntl
import json
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fastdispatch._core import Error
from fastdispatch.environment import network_file_system

MANIFEST = "manifest.json"

#: Behind the name of a recording: the file in which its timeline goes on.
SIDE = ".events"


def recording_name(rank: int) -> str:
    return f"rank{rank:05d}.fd"


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the run directory's lock. Not twice in one process."""
    with open(folder / ".manifest.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@contextmanager
def claimed(out: str | os.PathLike[str], rank: int) -> Iterator[Path]:
    """The path to record to: ``out/rankNNNNN.fd``, with the process id when another process has that one.

    One process at a time is in here: the file is made and registered before the next one looks.
    """
    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Error(f"{folder}: cannot make the run directory: {error.strerror}") from None
    with locked(folder):
        path = folder / recording_name(rank)
        yield path.with_suffix(f".{os.getpid()}.fd") if is_live(path) else path


def is_live(path: Path) -> bool:
    """Whether a running process records to ``path``: it holds the lock of the file."""
    try:
        with open(path, "rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def local_place(path: Path) -> Path:
    """Where to record while running: ``path`` itself, or a local file when that is on a network file system."""
    if network_file_system(path.parent) is None:
        return path
    import tempfile

    place = Path("/dev/shm") if os.access("/dev/shm", os.W_OK) else Path(tempfile.gettempdir())
    return place / f"fastdispatch-{os.getuid()}-{os.getpid()}-{path.name}"


def side(path: Path) -> Path:
    """Where the timeline of a recording goes on, if it does."""
    return path.with_name(path.name + SIDE)


def move(path: Path, target: Path) -> None:
    """Put a finished recording where it belongs; readers see the whole file or none. Its side file first."""
    if side(path).exists():
        _move(side(path), side(target))
    _move(path, target)


def _move(path: Path, target: Path) -> None:
    import shutil

    temporary = target.with_name(f"{target.name}.{os.getpid()}.tmp")
    shutil.copyfile(path, temporary)
    os.replace(temporary, target)
    path.unlink()


def _read(path: Path) -> dict[str, Any]:
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return manifest if isinstance(manifest, dict) and isinstance(manifest.get("ranks"), list) else {}


def entries(folder: Path) -> list[dict[str, Any]]:
    """What the manifest of a run directory says of its recordings; empty without one."""
    return [each for each in _read(folder / MANIFEST).get("ranks", []) if isinstance(each.get("file"), str)]


def register(path: Path, rank: int, world: int, run: str, host: str | None = None, pid: int | None = None) -> None:
    """Name ``path`` in the manifest of its folder, whose lock is held, as written by this process or by the one given.

    A run begins anew, and the finished files of the run before are named no more, when the run's id is another one or
    when this rank is there already and its process is gone.
    """
    entry = {
        "rank": rank,
        "file": path.name,
        "host": host or socket.gethostname(),
        "pid": pid or os.getpid(),
        "started": time.time(),
    }
    manifest = _read(path.parent / MANIFEST)
    ranks = manifest.get("ranks", [])
    repeated = any(old.get("file") == path.name for old in ranks)
    if manifest.get("run_id") != run or repeated:
        ranks = [old for old in ranks if is_live(path.parent / old["file"])]
    ranks = [old for old in ranks if old.get("file") != path.name]
    ranks = sorted([*ranks, entry], key=lambda each: (each["rank"], each["file"]))
    manifest = {"format": "fastdispatch.run", "version": 1, "run_id": run, "world": world, "ranks": ranks}
    temporary = path.parent / f".{MANIFEST}.{os.getpid()}"
    temporary.write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
    os.replace(temporary, path.parent / MANIFEST)


def rename(path: Path, rank: int, world: int, run: str) -> Path:
    """A rank that became known only after the start: give the recording its name."""
    target = path.with_name(recording_name(rank))
    if target == path:
        return path
    with locked(path.parent):
        if is_live(target):
            return path
        if side(path).exists():
            os.replace(side(path), side(target))
        else:
            side(target).unlink(missing_ok=True)  # of a recording that is replaced
        os.replace(path, target)
        manifest = _read(path.parent / MANIFEST)
        manifest["ranks"] = [old for old in manifest.get("ranks", []) if old.get("pid") != os.getpid()]
        (path.parent / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
        register(target, rank, world, run)
    return target
