"""The ``gather`` option: what all ranks recorded, in rank 0's run directory.

Every rank sends its recording, one after the other. Everything goes through the store of torch.distributed, so no
collective of the program is disturbed, and a lost rank delays no other rank beyond the time limit.
"""

import json
import time
import warnings
from itertools import count
from pathlib import Path
from types import ModuleType
from typing import Any

from fastdispatch._core import Error
from fastdispatch.files import run_directory
from fastdispatch.read.missing import missing_from
from fastdispatch.read.trace import load
from fastdispatch.record.environment import torch_distributed
from fastdispatch.record.store_exchange import StoreExchange

#: Default limit in seconds. Half of it is for ranks that stop later than this one.
LIMIT = 60.0


_POLL = 0.02  # seconds

#: Each rank has gathered as often.
_number = count()


def gather_finished(file: run_directory.RecordingFile | None, run: str, limit: float) -> None:
    """Send the finished recording, if torch.distributed is initialised; warn if it fails or ranks are missing. Every
    rank calls it, even without a file."""
    distributed = torch_distributed()
    if distributed is None:
        return
    try:
        missing = _gather(distributed, file, run, limit)
    except (AttributeError, OSError, RuntimeError, Error) as error:
        missing = f"the recordings were not gathered: {error}"
    if missing:
        warnings.warn(f"fastdispatch: {missing}", RuntimeWarning, stacklevel=4)


def _gather(distributed: ModuleType, file: run_directory.RecordingFile | None, run: str, limit: float) -> str:
    """Return a sentence about missing ranks on rank 0, and about this one if it could not send."""
    rank, world = distributed.get_rank(), distributed.get_world_size()
    begin = time.monotonic()
    store = distributed.distributed_c10d._get_default_store()
    exchange = StoreExchange(store, f"fastdispatch/gather{next(_number)}", rank, begin + limit)
    present = _present(exchange, rank, world, begin + limit / 2)
    if rank not in present:
        return f"gather: rank {rank} stopped later than the limit of {limit:g} s"
    if rank != 0:
        content = None if file is None else file.folder.read(file.name, 1 << 62)
        return "" if exchange.send(content or b"") else "gather: rank 0 did not receive the recording in time"
    return _missing({0} | _take_recordings(exchange, file, present, run), world)


def _missing(got: set[int], world: int) -> str:
    sentence = missing_from([(each, each) for each in sorted(got)], world)
    return f"gather: {sentence}" if sentence else ""


def _present(exchange: StoreExchange, rank: int, world: int, until: float) -> list[int]:
    """Return the ranks that have stopped, by rank: all, or those that rank 0 finds at the end of its time."""
    exchange.publish("here")
    if rank == 0:
        everybody = exchange.await_text("here", range(world), until) is not None
        exchange.publish(
            "present", json.dumps(sorted(range(world) if everybody else exchange.published("here", range(world))))
        )
    text = exchange.await_text("present", [0])
    if text is None:
        raise Error("rank 0 did not stop in time")
    return [int(each) for each in json.loads(text)]


def _next_ready(exchange: StoreExchange, waiting: set[int]) -> int | None:
    """Wait for one of these ranks and remove it from the set; None if the time is over."""
    while waiting and time.monotonic() < exchange.until:
        for rank in sorted(exchange.published("ready", waiting)):
            waiting.remove(rank)
            return rank
        time.sleep(_POLL)
    return None


def _take_recordings(
    exchange: StoreExchange, file: run_directory.RecordingFile | None, present: list[int], run: str
) -> set[int]:
    """Store the recordings of other ranks, one rank in memory at a time; return the ranks that have sent theirs."""
    waiting, got = set(present) - {0}, set()
    while (rank := _next_ready(exchange, waiting)) is not None:
        found = exchange.receive(rank)
        if found is not None:
            got.add(rank)
        if file is not None and found:
            _store(file, rank, found, run)
    return got


def _store(file: run_directory.RecordingFile, rank: int, content: bytes, run: str) -> None:
    """Store a recording unless it exists: ranks may share a disk. It replaces that of a previous run."""
    folder, name = file.folder, run_directory.recording_name(rank)
    with run_directory.locked(folder, best_effort=True):
        here = [name, *(entry["file"] for entry in run_directory.entries(Path(folder.path)))]
        if content[32:48] in (run_directory.recording_id(folder, each) for each in here):
            return
        name = run_directory.free_name(folder, rank, best_effort=True)
        arriving = f".{name}.arriving"
        try:
            folder.write(arriving, content)
            folder.move(arriving, folder, name)
        finally:
            folder.remove(arriving)
        sent: dict[str, Any] = load(file.shown / name).ranks[0]
        writer = {"host": sent["meta"].get("host") or "", "pid": sent["pid"]}
        run_directory.register(folder, name, sent["rank"], sent["world"], run, **writer)
