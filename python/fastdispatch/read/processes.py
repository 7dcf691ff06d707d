"""Other processes of the ranks of a run: DataLoader workers and further children (docs/formats/run-directory.md)."""

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fastdispatch import _core
from fastdispatch._core import Error
from fastdispatch.files import run_directory
from fastdispatch.files.run_directory import child_names
from fastdispatch.files.run_sources import recordings
from fastdispatch.read.summary import mapping, path_of
from fastdispatch.read.trace import Columns, PathLike, Trace, load

_ITEMS = ("__getitem__", "__getitems__", "__next__")
_KINDS = ("worker", "process", "fork")
_SHOWN = 3  # functions called by those


@dataclass
class WorkerTimes:
    """A function of the workers of a group: calls and total time (ns)."""

    key: str
    calls: int = 0
    total: int = 0


@dataclass
class Processes:
    """Processes of a rank with the same work: ``kind`` as in the run directory, or ``subprocess`` for those that are
    not recorded. Times are sums over the processes, in ns."""

    rank: int
    kind: str
    name: str  # class of the dataset, target, or caller
    count: int = 0
    live: int = 0
    recorded: int = 0
    items: list[WorkerTimes] = field(default_factory=list)  # of a dataset
    collate: list[WorkerTimes] = field(default_factory=list)
    inside: list[WorkerTimes] = field(default_factory=list)  # called by the functions of `items`, the longest
    idle: int = 0  # waiting for the rank
    waits: int = 0  # of the rank for batches of all its workers
    waited: int = 0
    starts: int = 0  # of groups of workers by the rank
    starting: int = 0


def load_children(path: PathLike) -> list[Trace]:
    """Read the recordings of the other processes of a rank, or of all ranks of a run directory, by name of the file.

    ``meta["process"]`` of each describes the process; ``ranks[0]["rank"]`` is its rank. Raises
    :class:`fastdispatch.Error` if the path is not a recording or a run directory.
    """
    return [trace for _, trace in _found(Path(os.fspath(path)))]


def _found(path: Path) -> Iterator[tuple[Path, Trace]]:
    ranks = [path]
    if path.is_dir():
        ranks = list(map(Path, recordings(path)))
    elif not path.is_file():
        raise Error(f"{path}: no such recording or run directory")
    known = {
        folder: {_id(rank) for rank in ranks if rank.parent == folder} for folder in {rank.parent for rank in ranks}
    }
    for folder, ids in known.items():
        for name in child_names(folder):
            try:
                trace = load(folder / name)
            except Error:  # it has just been removed, or is not a recording
                continue
            fact = mapping(trace.meta.get("process"))
            if fact.get("of") in ids and fact.get("kind") in _KINDS and isinstance(fact.get("name"), str):
                yield folder / name, trace


def _id(recording: Path) -> str:
    try:
        found = run_directory.recording_id(_core.Folder(recording.parent), recording.name)
    except Error:
        return ""
    return found.hex() if found else ""


def live_children(path: PathLike) -> list[tuple[str, Trace, bool]]:
    """Return name, recording and whether it runs of each child that runs, or was killed."""
    found = []
    for file, trace in _found(Path(os.fspath(path))):
        live = run_directory.is_live(file)
        if live or trace.ranks[0]["state"] == "running":
            found.append((file.name.partition(".fd.")[2], trace, live))
    return found


def processes(path: PathLike, ranks: Trace) -> list[Processes]:
    """Return the groups of processes of a run or rank; empty for other inputs. ``ranks`` is the loaded run."""
    place = Path(os.fspath(path))
    groups: dict[tuple[int, str, str], Processes] = {}
    if place.is_dir() or place.suffix == ".fd":
        for file, trace in _found(place):
            fact = trace.meta["process"]
            rank = trace.ranks[0]["rank"]
            name = str(fact.get("dataset") or fact["name"]).rpartition(".")[2]
            group = groups.setdefault((rank, fact["kind"], name), Processes(rank, fact["kind"], name))
            _add(group, trace, fact, run_directory.is_live(file))
    found = [groups[key] for key in sorted(groups)]
    for group in found:
        group.inside = sorted(group.inside, key=lambda work: -work.total)[:_SHOWN]
    _add_waits(found, ranks)
    return [*found, *_subprocesses(ranks)]


class _ProcessPaths:
    """Functions of a trace by call path."""

    def __init__(self, trace: Trace) -> None:
        self.nodes, self.contexts = trace.nodes, trace.contexts

    def name(self, context: int) -> str:
        return "" if context < 0 else str(self.nodes["name"][self.contexts["node"][context]])

    def key(self, context: int) -> str:
        return str(self.nodes["key"][self.contexts["node"][context]])

    def named(self, wanted: Iterable[str]) -> Iterator[int]:
        rows = {row for row, name in enumerate(self.nodes["name"]) if name in wanted}
        return (at for at, node in enumerate(self.contexts["node"]) if node in rows)

    def outermost(self, context: int) -> bool:
        """Return whether no call of the same function is above: a recursion counts once."""
        node, *above = (self.contexts["node"][row] for row in path_of(self.contexts, context))
        return node not in above

    def add(self, to: list[WorkerTimes], context: int) -> None:
        key = self.key(context)
        work = next((each for each in to if each.key == key), None)
        if work is None:
            work = WorkerTimes(key)
            to.append(work)
        work.calls += self.contexts["calls"][context]
        if self.outermost(context):
            work.total += self.contexts["total"][context]


def _add(group: Processes, trace: Trace, fact: dict[str, Any], live: bool) -> None:
    group.count += 1
    group.live += live
    group.recorded += trace.ranks[0]["recorded"]
    if fact["kind"] != "worker":
        return
    paths = _ProcessPaths(trace)
    parents: dict[int, list[int]] = defaultdict(list)
    for at, parent in enumerate(trace.contexts["parent"]):
        parents[parent].append(at)
    for at in paths.named(_ITEMS):
        if f"[{group.name}]:" in paths.key(at):
            paths.add(group.items, at)
            for child in parents[at]:
                if paths.nodes["kind"][trace.contexts["node"][child]] == "python":
                    paths.add(group.inside, child)
    for at in paths.named([str(fact.get("collate")).rpartition(".")[2]]):
        paths.add(group.collate, at)
    for at in paths.named(["get"]):
        if paths.name(trace.contexts["parent"][at]) == "_worker_loop":
            group.idle += trace.contexts["total"][at]


def _add_waits(groups: list[Processes], ranks: Trace) -> None:
    """Add the time of each rank in its DataLoaders to the first group of its workers."""
    for index, rank in enumerate(ranks.ranks):
        group = next((each for each in groups if (each.rank, each.kind) == (rank["rank"], "worker")), None)
        if group is None:
            continue
        table = ranks.core.table("node", index)
        group.waits, group.waited = _of_loaders(table, "_get_data")
        group.starts, group.starting = _of_loaders(table, "__init__")


def _of_loaders(table: Columns, name: str) -> tuple[int, int]:
    """Return calls and total time of a method of the iterators of DataLoaders; base classes have the same key."""
    key = f"torch/utils/data/dataloader.py:[_MultiProcessingDataLoaderIter]:{name}"
    rows = [at for at, where in enumerate(table["where"]) if where.partition("@")[0] == key]
    found = [(table["calls"][at], table["total"][at]) for at in rows]
    return max(found, key=lambda each: each[1], default=(0, 0))


def _subprocesses(ranks: Trace) -> list[Processes]:
    """Return the processes that ``subprocess`` started, by the first caller outside of the standard library."""
    paths = _ProcessPaths(ranks)
    found: dict[str, int] = defaultdict(int)
    for at in paths.named(["__init__"]):
        if paths.key(at) == "subprocess.py:[Popen]:__init__":
            above = ranks.contexts["parent"][at]
            while above >= 0 and paths.nodes["from"][ranks.contexts["node"][above]] == "stdlib":
                above = ranks.contexts["parent"][above]
            found[paths.key(above) if above >= 0 else ""] += ranks.contexts["calls"][at]
    number = ranks.ranks[0]["rank"] if len(ranks.ranks) == 1 else -1
    return [Processes(number, "subprocess", caller, count) for caller, count in sorted(found.items()) if count]
