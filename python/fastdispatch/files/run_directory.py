"""The run directory: where a process records, and the manifest that names the files of one run.

All access is through :class:`fastdispatch._core.Folder`, relative to the directory, without following links or waiting
for a FIFO: other users may be able to write there. The only exception it raises is :class:`fastdispatch.Error`.
"""

import json
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import Any

from fastdispatch import _core
from fastdispatch._core import Error

MANIFEST = "manifest.json"
LOCK = ".manifest.lock"

#: Ending of the previous recording.
PREVIOUS = ".previous"

#: States of the writer of a recording whose name is free.
_FREE = (None, "gone")

#: Seconds to wait for the lock, which each process of a run keeps for milliseconds; another may keep it forever.
_PATIENCE = 30.0

#: Names to try for one recording: no name is free in a directory that cannot be read.
_MOST_NAMES = 1000

#: Bytes of a manifest, 100 000 ranks.
_LARGEST = 16 << 20

_FORMAT, _VERSION = "fastdispatch.run", 1

#: Ranks of a run that commands read one by one. More of them are a data set.
FEW = 16

_CHILD = re.compile(r"rank\d+(\.\d+(-\d+)?)?\.fd\.\w+-\d+", re.ASCII)

# Types in /proc/self/mountinfo on which a mapped file with constant writes is unsafe or slow.
_NETWORK_FILE_SYSTEMS = {"nfs", "nfs4", "cifs", "smb3", "lustre", "gpfs", "ceph", "beegfs", "9p", "afs"}


def recording_name(rank: int) -> str:
    return f"rank{rank:05d}.fd"


def own_names(rank: int) -> Iterator[str]:
    """Yield names for a rank whose usual name is taken, with the process id, which another host may use too."""
    yield f"rank{rank:05d}.{os.getpid()}.fd"
    yield from (f"rank{rank:05d}.{os.getpid()}-{number}.fd" for number in range(2, _MOST_NAMES))


def is_live(path: Path) -> bool:
    """Return whether a running process records to ``path``; without locks, whether the recording is unfinished."""
    return _core.writer(path) in ("live", "unknown")


def open_folder(out: str | os.PathLike[str]) -> _core.Folder:
    """Open the run directory; create it if needed. Later changes of the current directory have no effect on it."""
    try:
        return _core.Folder(os.path.abspath(out), make=True)
    except OSError as error:  # of getcwd()
        raise Error(f"{out}: cannot make the directory: {error.strerror}") from None
    except ValueError as error:  # lone surrogate or null character
        raise Error(f"{out!r}: cannot make the directory: {error}") from None


@contextmanager
def locked(folder: _core.Folder, best_effort: bool = False) -> Iterator[None]:
    """Acquire the lock of the run directory, once per process. After half a minute continue without it: files appear
    atomically, and only one process gets a name, even without the lock."""
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


class RecordingFile:
    """Name of this process's recording in the run directory. On a network file system the file is in ``local`` until it
    is finished."""

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
        self.shown = shown  # the run directory as the user gave it
        self.name = name
        self.local = local
        self.local_name = local_name
        self.began = began  # ns since 1970

    @property
    def path(self) -> Path:
        return self.shown / self.name

    def session(self, **options: Any) -> _core.Session:
        """Return a session that records to this file."""
        if self.local is not None:
            return _core.Session(self.local_name, folder=self.local, **options)
        return _core.Session(self.name, folder=self.folder, **options)


@contextmanager
def claimed(out: str | os.PathLike[str], rank: int, best_effort: bool = False) -> Iterator[RecordingFile]:
    """Yield the file to record to: ``out/rankNNNNN.fd``, with the process id if another process uses that name.

    One process at a time creates and registers its file here. Raises Error if the directory cannot be written or,
    without ``best_effort``, if another file has the name.
    """
    folder = open_folder(out)
    with locked(folder, best_effort):
        file = RecordingFile(folder, Path(out), free_name(folder, rank, best_effort), began=time.time_ns())
        keep_locally(file)
        yield file


def keep_locally(file: RecordingFile) -> None:
    """Keep the recording out of a network file system until it is finished."""
    if network_file_system(Path(file.folder.path)) is not None:
        file.local = _core.Folder("/dev/shm" if os.access("/dev/shm", os.W_OK) else temporary_folder())
        file.local_name = f"fastdispatch-{os.getuid()}-{os.getpid()}-{file.name}"


def temporary_folder() -> str:
    import tempfile

    try:
        return tempfile.gettempdir()
    except OSError as error:
        raise Error(f"no folder for temporary files: {error.strerror}: set TMPDIR") from None


def free_name(folder: _core.Folder, rank: int, best_effort: bool = False) -> str:
    """Return the name for a rank's recording in a locked directory."""
    name = recording_name(rank)
    if not best_effort:
        folder.writer(name)  # raises if another file has the name
    free = next((each for each in chain([name], own_names(rank)) if _writer(folder, each) in _FREE), None)
    if free is None:
        raise Error(f"{folder.path}: all names for a recording of rank {rank} are in use")
    return free


def _writer(folder: _core.Folder, name: str) -> str | None:
    """Return the state of the writer of a recording; "damaged" if it cannot be read."""
    try:
        return folder.writer(name)
    except Error:
        return "damaged"


def recording_id(folder: _core.Folder, name: str) -> bytes | None:
    """Return the id in the header of a recording (docs/formats/recording.md)."""
    return _header(folder, name, 48)[32:] or None


def started(folder: _core.Folder, name: str) -> int:
    """Return when a recording in a folder was started, ns since 1970; 0 if it was not, or cannot be read."""
    return int.from_bytes(_header(folder, name, 152)[144:], "little")


def _header(folder: _core.Folder, name: str, size: int) -> bytes:
    """Return the first bytes of a recording; empty if it has fewer, or cannot be read."""
    try:
        head = folder.read(name, size)
    except Error:
        return b""
    return head if head is not None and len(head) == size else b""


def settle_child(file: RecordingFile) -> None:
    """Move the finished recording of a process that is not a rank. Raises Error if it cannot be moved."""
    if file.local is not None:
        file.local.move(file.local_name, file.folder, file.name)


def become_rank(file: RecordingFile, rank: int, world: int, run: str) -> str | None:
    """Name the live recording of a process that has joined a process group as one of that rank, and list it. Returns a
    line for the user, if any."""
    with locked(file.folder, best_effort=True):
        name = next((name for name in own_names(rank) if _writer(file.folder, name) in _FREE), file.name)
        try:
            if file.local is None and name != file.name:
                file.folder.move(file.name, file.folder, name)
        except Error as error:
            return f"{error}: {file.name} is not listed as rank {rank}"
        file.name = name
        return register(file.folder, name, rank, world, run, again=True)


def register_again(file: RecordingFile | None, rank: int, world: int, run: str) -> str | None:
    """Change the entry of a recording in the manifest: it belongs to another run than at its start. Returns a line for
    the user, if any."""
    if file is None:
        return None
    with locked(file.folder, best_effort=True):
        return register(file.folder, file.name, rank, world, run, again=True)


def settle(file: RecordingFile, rank: int, world: int, run: str) -> str | None:
    """Move a finished recording to the run directory, under the name of its rank. Returns a line for the user, if any.
    Raises Error if the recording cannot be moved."""
    if file.local is None and file.name == recording_name(rank):
        return None
    with locked(file.folder, best_effort=True):
        kept = file.local is None and file.name.endswith(".fd")
        names = [recording_name(rank)] if kept else chain([recording_name(rank)], own_names(rank))
        target = next((name for name in names if _is_left(file, name)), file.name)
        if file.local is not None:
            file.local.move(file.local_name, file.folder, target)
        elif target != file.name:
            file.folder.move(file.name, file.folder, target)
        file.name = target
        return register(file.folder, file.name, rank, world, run, again=True)


def _is_left(file: RecordingFile, name: str) -> bool:
    """Return whether a name is free at the end: a recording that ended before this one began may be replaced, that of
    another process of the same rank in this run must not."""
    if _writer(file.folder, name) not in _FREE:
        return False
    head = file.folder.read(name, 184)
    if head is None:
        return True
    times = (int.from_bytes(head[at : at + 8], "little") for at in (144, 176))  # realtime_ns of start and stop
    return max(times) < file.began


def save(session: _core.Session, out: str | os.PathLike[str], rank: int, world: int, run: str) -> Path:
    """Write a recording from memory: to the run directory if that is possible by now, otherwise to a new temporary
    directory. Returns its path; raises Error if neither can be written."""
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
        own = Path(tempfile.mkdtemp(prefix="fastdispatch-", dir=above))
    except OSError as error:
        raise Error(f"{above}: cannot make a folder: {error.strerror}") from None
    session.save(_core.Folder(own), recording_name(rank))
    return own / recording_name(rank)


def _read(folder: _core.Folder) -> tuple[dict[str, Any], str | None]:
    """Return the manifest, empty if none exists, and the reason why it must not be replaced, if any."""
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
    """Return whether an entry has a number as its rank and the plain name of a file."""
    if not isinstance(entry, dict):
        return False
    rank, name = entry.get("rank"), entry.get("file")
    return (
        isinstance(rank, int) and isinstance(name, str) and name not in ("", ".", "..") and not set("/\0") & set(name)
    )


def entries(folder: Path) -> list[dict[str, Any]]:
    """Return the recordings in the manifest of a run directory; empty without a valid manifest."""
    try:
        manifest, _ = _read(_core.Folder(folder))
    except Error:
        return []
    ranks: list[dict[str, Any]] = manifest.get("ranks", [])
    return ranks


def register(
    folder: _core.Folder, name: str, rank: int, world: int, run: str, *, again: bool = False, **writer: Any
) -> str | None:
    """Add a recording to the manifest of its locked directory; ``writer`` (host, pid) is this process by default.
    ``again``: the manifest already has an entry of that process, perhaps with another name.

    A new run begins, and finished files of the previous run are dropped, if the id of the run differs or this rank has
    an entry whose process is gone. Returns a line if the manifest cannot be written; the recording is not affected.
    """
    manifest, trouble = _read(folder)
    if trouble is not None:
        return f"{trouble}: the file is unchanged and does not list {name}"
    process = {"host": os.uname().nodename, "pid": os.getpid()} | writer
    ranks = manifest["ranks"]
    if again:
        ranks = [old for old in ranks if (old.get("host"), old.get("pid")) != (process["host"], process["pid"])]
    if manifest.get("run_id") != run or any(old["file"] == name for old in ranks):
        ranks = [old for old in ranks if _writer(folder, old["file"]) in ("live", "unknown")]
    entry = {"rank": rank, "file": name, **process, "started": time.time()}
    ranks = [*(old for old in ranks if old["file"] != name), entry]
    ranks.sort(key=lambda each: (each["rank"], each["file"]))
    manifest = {"format": _FORMAT, "version": _VERSION, "run_id": run, "world": world, "ranks": ranks}
    try:
        folder.write(MANIFEST, (json.dumps(manifest, indent=1) + "\n").encode())
    except Error as error:
        return f"{error}: {name} is not listed there"
    return None


def is_last(file: RecordingFile, ranks: int, failed: bool) -> bool:
    """Mark the recording in the manifest as ended. Return whether this process shall print the findings of the run:
    ``ranks`` recordings have ended or their processes are gone, or it is the first that ``failed``."""
    process = (os.uname().nodename, os.getpid())
    with locked(file.folder, best_effort=True):
        manifest, trouble = _read(file.folder)
        if trouble is not None or "ranks" not in manifest:
            return True
        for entry in manifest["ranks"]:
            if (entry.get("host"), entry.get("pid")) == process:
                entry["ended"] = True
        over = len(manifest["ranks"]) >= ranks and all(map(_has_ended, manifest["ranks"]))
        last = (over or failed) and not manifest.get("printed")
        manifest["printed"] = manifest.get("printed", False) or last
        with suppress(Error):
            file.folder.write(MANIFEST, (json.dumps(manifest, indent=1) + "\n").encode())
        return bool(last)


def _has_ended(entry: dict[str, Any]) -> bool:
    """Return whether a process has marked its recording as ended, or is gone from this host."""
    gone = entry.get("host") == os.uname().nodename and not Path(f"/proc/{entry.get('pid')}").exists()
    return bool(entry.get("ended")) or gone


def forget(folder: _core.Folder, name: str) -> None:
    """Remove a recording from the manifest. No effect if the manifest cannot be read or written."""
    with locked(folder, best_effort=True):
        manifest, trouble = _read(folder)
        if trouble is None and any(entry["file"] == name for entry in manifest["ranks"]):
            manifest["ranks"] = [entry for entry in manifest["ranks"] if entry["file"] != name]
            with suppress(Error):
                folder.write(MANIFEST, (json.dumps(manifest, indent=1) + "\n").encode())


def child_names(folder: Path) -> list[str]:
    """Return the names of recordings of processes that are not ranks."""
    try:
        return sorted(name for name in os.listdir(folder) if _CHILD.fullmatch(name))
    except OSError:
        return []


def network_file_system(folder: Path) -> str | None:
    """Return the name of the network file system that contains ``folder``, None for a local one."""
    try:
        mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace")
        device = os.stat(folder).st_dev
    except OSError:
        return None
    wanted = f"{os.major(device)}:{os.minor(device)}"
    kinds = {line.split(" - ")[1].split()[0] for line in mounts.splitlines() if line.split()[2] == wanted}
    return next((kind for kind in sorted(kinds) if kind in _NETWORK_FILE_SYSTEMS or kind.startswith("fuse.")), None)
