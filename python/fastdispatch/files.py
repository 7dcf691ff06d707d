"""The run directory: where a process records, and the manifest that names the files of one run.

Everything in it is opened through :class:`fastdispatch._core.Folder`: relative to the directory, without following
links or waiting for a FIFO, whatever others put there. Nothing in it raises anything but :class:`fastdispatch.Error`.
"""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain, count
from pathlib import Path
from typing import Any

from fastdispatch import _core
from fastdispatch._core import Error
from fastdispatch.environment import network_file_system

MANIFEST = "manifest.json"
LOCK = ".manifest.lock"

#: Behind the name of a recording: the file in which its timeline goes on, and the recording that was there before.
SIDE = ".events"
PREVIOUS = ".previous"

#: Somebody may hold the lock for ever: each process of a run holds it for milliseconds.
_PATIENCE = 30.0

#: Bytes of a manifest, 100 000 ranks.
_LARGEST = 16 << 20

_FORMAT, _VERSION = "fastdispatch.run", 1


def recording_name(rank: int) -> str:
    return f"rank{rank:05d}.fd"


def own_names(rank: int) -> Iterator[str]:
    """For a rank whose name another process has; that of another host may have the same id."""
    yield f"rank{rank:05d}.{os.getpid()}.fd"
    yield from (f"rank{rank:05d}.{os.getpid()}-{number}.fd" for number in count(2))


def side(path: Path) -> Path:
    """Where the timeline of a recording goes on, if it does."""
    return path.with_name(path.name + SIDE)


def is_live(path: Path) -> bool:
    """Whether a running process records to ``path``; where that cannot be seen, whether it has not finished."""
    return _core.writer(path) in ("live", "unknown")


def open_folder(out: str | os.PathLike[str]) -> _core.Folder:
    """The run directory, made where it is missing. It stays the same when the program changes its own directory."""
    try:
        return _core.Folder(os.path.abspath(out), make=True)
    except OSError as error:  # of getcwd()
        raise Error(f"{out}: cannot make the directory: {error.strerror}") from None


@contextmanager
def locked(folder: _core.Folder, best_effort: bool = False) -> Iterator[None]:
    """Hold the run directory's lock. Not twice in one process. After half a minute it goes on without: what is written
    here appears at once, and a name is given to one process only, with the lock or without."""
    until = time.monotonic() + _PATIENCE
    try:
        while not folder.lock(LOCK) and time.monotonic() < until:
            time.sleep(0.01)
    except Error as error:
        if not best_effort:
            raise Error(f"{error}: remove it, or record to another folder") from None
    try:
        yield
    finally:
        folder.unlock()


class Place:
    """Where this process records: a name in the run directory. A run directory on a network file system gets the file
    when it is finished; until then it is the one in ``local``."""

    def __init__(
        self,
        folder: _core.Folder,
        shown: Path,
        name: str,
        local: _core.Folder | None = None,
        local_name: str = "",
        began: int = 0,
    ) -> None:
        self.folder = folder
        self.shown = shown  # the run directory as the user calls it
        self.name = name
        self.local = local
        self.local_name = local_name
        self.began = began  # ns since 1970

    @property
    def path(self) -> Path:
        return self.shown / self.name

    def session(self, **options: Any) -> _core.Session:
        """A session that records here."""
        if self.local is not None:
            return _core.Session(self.local_name, folder=self.local, **options)
        return _core.Session(self.name, folder=self.folder, **options)


@contextmanager
def claimed(out: str | os.PathLike[str], rank: int, best_effort: bool = False) -> Iterator[Place]:
    """The place to record: ``out/rankNNNNN.fd``, with the process id when another process has that one.

    One process at a time is in here: the file is made and registered before the next one looks. Raises Error for a
    folder that cannot be written to; with ``best_effort`` a name that something else has is no reason.
    """
    folder = open_folder(out)
    with locked(folder, best_effort):
        place = Place(folder, Path(out), free_name(folder, rank, best_effort), began=time.time_ns())
        if network_file_system(Path(folder.path)) is not None:
            place.local = _core.Folder("/dev/shm" if os.access("/dev/shm", os.W_OK) else temporary_folder())
            place.local_name = f"fastdispatch-{os.getuid()}-{os.getpid()}-{place.name}"
        yield place


def temporary_folder() -> str:
    import tempfile

    try:
        return tempfile.gettempdir()
    except OSError as error:
        raise Error(f"no folder for temporary files: {error.strerror}: set TMPDIR") from None


def free_name(folder: _core.Folder, rank: int, best_effort: bool = False) -> str:
    """The name of a rank's recording in a folder whose lock is held."""
    name = recording_name(rank)
    if not best_effort:
        folder.writer(name)  # raises where something else has it
    return name if _is_free(folder, name) else next(own for own in own_names(rank) if _is_free(folder, own))


def _is_free(folder: _core.Folder, name: str) -> bool:
    try:
        return folder.writer(name) in (None, "gone")
    except Error:
        return False


def _is_live(folder: _core.Folder, name: str) -> bool:
    try:
        return folder.writer(name) in ("live", "unknown")
    except Error:
        return False


def recording_id(folder: _core.Folder, name: str) -> bytes | None:
    """The id in the header of a recording (docs/format.md)."""
    try:
        head = folder.read(name, 48)
    except Error:
        return None
    return head[32:48] if head is not None and len(head) == 48 else None


def settle(place: Place, rank: int, world: int, run: str) -> str | None:
    """Put a finished recording where it belongs, under the name of its rank. Returns what is worth a line to the user,
    and raises Error where the recording stays where it is."""
    if place.local is None and place.name == recording_name(rank):
        return None
    with locked(place.folder, best_effort=True):
        names = [recording_name(rank)] if place.local is None else chain([recording_name(rank)], own_names(rank))
        target = next((name for name in names if _is_left(place, name)), place.name)
        if place.local is not None:
            place.local.move(place.local_name, place.folder, target)
        elif target != place.name:
            place.folder.move(place.name, place.folder, target)
        place.name = target
        return register(place.folder, place.name, rank, world, run, again=True)


def _is_left(place: Place, name: str) -> bool:
    """Whether a name is free at the end: what is there, if anything, had ended before this recording began. Another
    process of the same rank may have ended in between."""
    if not _is_free(place.folder, name):
        return False
    head = place.folder.read(name, 184) or b""
    times = (int.from_bytes(head[at : at + 8], "little") for at in (144, 176))  # realtime_ns of start and stop
    return max(times) < place.began


def save(session: _core.Session, out: str | os.PathLike[str], rank: int, world: int, run: str) -> Path:
    """Write a recording that was held in memory: to the run directory if that is possible by now, else to a new folder
    for temporary files. Returns its path; raises Error where neither can be written."""
    try:
        folder = open_folder(out)
        with locked(folder, best_effort=True):
            name = free_name(folder, rank, best_effort=True)
            session.save(folder, name)
            register(folder, name, rank, world, run)
        return Path(out) / name
    except Error:
        pass
    import tempfile

    above = temporary_folder()
    try:
        place = Path(tempfile.mkdtemp(prefix="fastdispatch-", dir=above))
    except OSError as error:
        raise Error(f"{above}: cannot make a folder: {error.strerror}") from None
    session.save(_core.Folder(place), recording_name(rank))
    return place / recording_name(rank)


# -- the manifest ------------------------------------------------------------------------------------------------------


def _read(folder: _core.Folder) -> tuple[dict[str, Any], str | None]:
    """A manifest, empty without one, and why it must be left as it is: it is not one of ours."""
    where = f"{folder.path}/{MANIFEST}"
    try:
        text = folder.read(MANIFEST, _LARGEST)
        manifest = json.loads(text) if text is not None else {"format": _FORMAT, "version": _VERSION}
    except Error as error:
        return {}, str(error)
    except (ValueError, RecursionError):
        return {}, f"{where}: not JSON"
    if not isinstance(manifest, dict) or manifest.get("format") != _FORMAT or manifest.get("version") != _VERSION:
        return {}, f"{where}: not a manifest of this fastdispatch"
    ranks = manifest.get("ranks")
    manifest["ranks"] = [entry for entry in ranks if _is_entry(entry)] if isinstance(ranks, list) else []
    return manifest, None


def _is_entry(entry: object) -> bool:
    """With a number for the rank and the plain name of a file of this folder."""
    if not isinstance(entry, dict):
        return False
    rank, name = entry.get("rank"), entry.get("file")
    return (
        isinstance(rank, int) and isinstance(name, str) and name not in ("", ".", "..") and not set("/\0") & set(name)
    )


def entries(folder: Path) -> list[dict[str, Any]]:
    """What the manifest of a run directory says of its recordings; empty without one that can be read."""
    try:
        manifest, _ = _read(_core.Folder(folder))
    except Error:
        return []
    ranks: list[dict[str, Any]] = manifest.get("ranks", [])
    return ranks


def register(
    folder: _core.Folder, name: str, rank: int, world: int, run: str, *, again: bool = False, **writer: Any
) -> str | None:
    """Name a recording in the manifest of its folder, whose lock is held, as written by this process or as ``writer``
    says (host, pid). ``again``: it was named before, perhaps otherwise.

    A run begins anew, and the finished files of the run before are named no more, when the run's id is another one or
    when this rank is there already and its process is gone. Returns a line where the manifest cannot be written: the
    recording is as good without.
    """
    manifest, trouble = _read(folder)
    if trouble is not None:
        return f"{trouble}: it is left as it is, and does not name {name}"
    process = {"host": socket.gethostname(), "pid": os.getpid()} | writer
    ranks = manifest["ranks"]
    if again:
        ranks = [old for old in ranks if (old.get("host"), old.get("pid")) != (process["host"], process["pid"])]
    if manifest.get("run_id") != run or any(old["file"] == name for old in ranks):
        ranks = [old for old in ranks if _is_live(folder, old["file"])]
    entry = {"rank": rank, "file": name, **process, "started": time.time()}
    ranks = [*(old for old in ranks if old["file"] != name), entry]
    ranks.sort(key=lambda each: (each["rank"], each["file"]))
    manifest = {"format": _FORMAT, "version": _VERSION, "run_id": run, "world": world, "ranks": ranks}
    try:
        folder.write(MANIFEST, (json.dumps(manifest, indent=1) + "\n").encode())
    except Error as error:
        return f"{error}: {name} is not named there"
    return None
