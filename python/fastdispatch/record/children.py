"""The other processes of a rank: DataLoader workers and further children (docs/formats/run-directory.md).

A child records to its own file, whose name begins with that of the rank's recording. Nothing here waits for
another process, and no failure reaches the program: the child then runs unrecorded.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from fastdispatch import _core
from fastdispatch.files import run_directory
from fastdispatch.record.launchers import process_rank

#: The variable that names the recording of the rank to spawned processes.
PARENT = "FASTDISPATCH_PARENT"

#: Recordings to keep per name: a DataLoader without persistent workers starts new ones in every epoch.
_KEPT = 4

_OWN_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_WORKER = ("torch.utils.data._utils.worker", "_worker_loop")


@dataclass(frozen=True)
class ParentRank:
    """The recording of a rank to which its other processes belong."""

    folder: str  # absolute
    name: str
    id: str  # in its header, hexadecimal
    rank: int
    world: int
    run: str
    variables: str  # rank and world size by the variables of a launcher

    @classmethod
    def of_environment(cls) -> ParentRank | None:
        """Return the rank that spawned this process; None if it does not record any more."""
        try:
            rank = cls(**json.loads(os.environ[PARENT]))
            folder = _core.Folder(rank.folder)
            return rank if folder.writer(rank.name) in ("live", "unknown") else None
        except (KeyError, TypeError, ValueError, _core.Error):
            return None

    @classmethod
    def of_file(cls, file: run_directory.RecordingFile, rank: int, world: int, run: str) -> ParentRank | None:
        """Return the rank that records to ``file``; None if that has no id."""
        local = (file.folder, file.name) if file.local is None else (file.local, file.local_name)
        id = run_directory.recording_id(*local)
        path = os.path.abspath(file.folder.path)
        return cls(path, file.name, id.hex(), rank, world, run, rank_variables()) if id else None


def rank_variables() -> str:
    """Return rank and world size of this process by the variables of its launcher."""
    process = process_rank()
    return f"{process.rank}/{process.world}"


@dataclass(frozen=True)
class Process:
    """A child: its kind (``worker`` of a DataLoader, ``process`` of multiprocessing, ``fork``), name and facts."""

    kind: str
    name: str
    facts: dict[str, Any] = field(default_factory=dict)

    def note(self, rank: ParentRank) -> dict[str, Any]:
        """Return the fact ``process`` of its recording."""
        return {"kind": self.kind, "name": self.name, "of": rank.id, "parent": os.getppid()} | self.facts


def forked() -> Process | None:
    """Describe this forked child by the frames that forked it; None for a child of subprocess, which runs another
    program."""
    frame: FrameType | None = sys._getframe()
    while frame is not None and frame.f_code.co_filename.startswith(_OWN_FOLDER):
        frame = frame.f_back
    if frame is None:
        return Process("fork", "fork")
    file, function = os.path.basename(frame.f_code.co_filename), frame.f_code.co_name
    if (file, function) == ("subprocess.py", "_execute_child"):
        return None
    started = frame.f_locals.get("process_obj") if (file, function) == ("popen_fork.py", "_launch") else None
    if started is None:
        return Process("fork", "fork", {"function": frame.f_code.co_qualname})
    return started_by_multiprocessing(started, frame)


def started_process() -> Process | None:
    """Describe this process of multiprocessing; None before it begins to run its target."""
    module = sys.modules.get("multiprocessing.process")
    process = None if module is None else module.current_process()
    return started_by_multiprocessing(process) if "_target" in getattr(process, "__dict__", ()) else None


def started_by_multiprocessing(process: object, frame: FrameType | None = None) -> Process:
    """Describe a ``multiprocessing.Process``; ``frame`` is the one that starts it, if it is in this process."""
    attributes = vars(process)
    target = attributes.get("_target")
    facts = {"process": str(attributes.get("_name", "")), "target": _name_of(target)}
    if (getattr(target, "__module__", None), getattr(target, "__name__", None)) == _WORKER:
        return _worker(_arguments(target, attributes), facts, frame)
    name = getattr(target, "__name__", None) or type(process).__name__
    return Process("process", re.sub(r"\W+", "_", str(name), flags=re.ASCII)[:40] or "process", facts)


def _worker(given: Mapping[str, Any], facts: dict[str, Any], frame: FrameType | None) -> Process:
    number = given.get("worker_id")
    facts |= {
        "worker": number if isinstance(number, int) else None,
        "workers": given.get("num_workers"),
        "dataset": _name_of(type(given.get("dataset"))),
        "collate": _name_of(given.get("collate_fn")),
        "loader": _loader(frame),
    }
    return Process("worker", f"worker{number}" if isinstance(number, int) else "worker", facts)


def _arguments(target: Any, attributes: Mapping[str, Any]) -> dict[str, Any]:
    code = target.__code__
    given = dict(zip(code.co_varnames[: code.co_argcount], attributes.get("_args") or (), strict=False))
    return given | dict(attributes.get("_kwargs") or {})


def _loader(frame: FrameType | None) -> str | None:
    """Return the address of the DataLoader that starts its workers: equal in all epochs."""
    while frame is not None:
        if frame.f_code.co_name == "__init__" and frame.f_code.co_filename.endswith("/torch/utils/data/dataloader.py"):
            loader = frame.f_locals.get("loader")
            return None if loader is None else hex(id(loader))
        frame = frame.f_back
    return None


def _name_of(value: object) -> str | None:
    name = getattr(value, "__qualname__", None)
    return f"{getattr(value, '__module__', '')}.{name}" if isinstance(name, str) else None


def name_of(rank: ParentRank, process: Process) -> str:
    """Return the name of the file of this process."""
    return f"{rank.name}.{process.name}-{os.getpid()}"


def recording_file(rank: ParentRank, process: Process) -> run_directory.RecordingFile:
    """Return the file of this process's recording. The oldest ended recordings of its name are removed."""
    folder = _core.Folder(rank.folder)
    _make_room(folder, f"{rank.name}.{process.name}-")
    found = run_directory.RecordingFile(folder, Path(rank.folder), name_of(rank, process), began=time.time_ns())
    run_directory.keep_locally(found)
    return found


def _make_room(folder: _core.Folder, prefix: str) -> None:
    old = [
        (run_directory.started(folder, name), name)
        for name in run_directory.child_names(Path(folder.path))
        if name.startswith(prefix)
    ]
    for _, name in sorted(old)[: max(len(old) + 1 - _KEPT, 0)]:
        if _writer(folder, name) == "gone":
            folder.remove(name)


def settle(folder: _core.Folder, before: str, after: str, began: int) -> None:
    """Rename the recordings of a rank's processes with it. Remove those of an earlier recording of that name, if that
    has been removed, too."""
    replaced = _writer(folder, after + run_directory.PREVIOUS) is None
    for name in run_directory.child_names(Path(folder.path)):
        try:
            if _writer(folder, name) != "gone":
                continue
            if name.startswith(f"{after}.") and run_directory.started(folder, name) < began and replaced:
                folder.remove(name)
            elif name.startswith(f"{before}.") and before != after:
                folder.move(name, folder, after + name.removeprefix(before))
        except _core.Error:
            continue


def _writer(folder: _core.Folder, name: str) -> str | None:
    try:
        return folder.writer(name)
    except _core.Error:
        return "unknown"


def announce(rank: ParentRank | None, options: str | None) -> None:
    """Let processes that multiprocessing spawns find this recording: in the environment that they inherit, not in
    ``os.environ`` of the program. With None they do not any more."""
    variables = {PARENT: None if rank is None else json.dumps(asdict(rank))}
    if "FASTDISPATCH" not in os.environ:
        variables |= {"FASTDISPATCH": None if rank is None else "children", "FASTDISPATCH_OPTIONS": options}
    for name, value in variables.items():
        if value is None:
            os.unsetenv(name)
        else:
            os.putenv(name, value)
