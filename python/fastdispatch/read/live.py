"""Recordings of running processes, read and controlled from outside (docs/guides/live.md).

A recording is a file that its process maps; reading it does not affect the process.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from fastdispatch import _core
from fastdispatch._core import Error
from fastdispatch.files import run_directory, run_sources
from fastdispatch.files.inputs import rank_in_header
from fastdispatch.read.collectives import compared_groups, differences, operator_differences
from fastdispatch.read.columns import rows
from fastdispatch.read.processes import Processes, live_children, processes
from fastdispatch.read.source_calls import Sources
from fastdispatch.read.summary import whole_time
from fastdispatch.read.trace import Trace, load_part

#: While a file with the recording's name and this ending exists, recording is paused
#: (csrc/capture/session/session.h).
OFF = ".off"

#: Recordings that are read as one trace: functions and call paths that they share are converted once.
_AT_ONCE = 64


def recordings(path: str) -> list[Path]:
    """Return the recordings of a run directory, by rank, or the one file. Raises Error if none exists."""
    given = Path(path)
    if not given.is_dir() and not given.is_file():
        raise Error(f"{path}: no such recording or run directory")
    found = [Path(each) for each in run_sources.recordings(path) if each.endswith(".fd")] if given.is_dir() else [given]
    if not found:
        raise Error(f"{path}: no recording in this folder")
    return found


def switch(path: str, on: bool) -> tuple[list[Path], list[Path]]:
    """Resume or pause running recordings from their next step. Returns the running and the ended ones.

    Raises Error if none is running, or if a file cannot be written beside them.
    """
    found = recordings(path)
    running = [each for each in found if run_directory.is_live(each)]
    if not running:
        raise Error(f"{path}: no running recording: {len(found)} finished")
    for each in running:
        folder = _core.Folder(each.parent)
        if on:
            folder.remove(each.name + OFF)
        else:
            folder.write(each.name + OFF, b"")
    return running, [each for each in found if each not in running]


@dataclass(frozen=True)
class Stack:
    """Stack of a thread, outermost call first, and the time (ns) since the innermost began. The process is ``running``,
    ``paused``, ``stopped`` or ``killed``; for an ended one this is the last stack."""

    rank: int
    state: str
    thread: str
    step: int
    calls: tuple[str, ...]
    kinds: tuple[str, ...]
    ages: tuple[int, ...]
    lines: tuple[int, ...]  # that they execute; 0: unknown, the thread is not known to stand still
    process: str = ""  # "worker0-4711": another process of the rank
    source: str = ""  # text of the innermost line; empty: unknown

    @property
    def age(self) -> int:
        return self.ages[-1] if self.ages else 0

    def as_json(self) -> dict[str, Any]:
        return {
            "rank": self.rank,
            "process": self.process,
            "state": self.state,
            "thread": self.thread,
            "step": self.step,
            "source": self.source or None,
            "stack": [
                {"call": call, "kind": kind, "ns": age, "line": line or None}
                for call, kind, age, line in zip(self.calls, self.kinds, self.ages, self.lines, strict=True)
            ],
        }


def position(path: str, incomplete: Callable[[str], object] = lambda line: None) -> tuple[list[Stack], list[str]]:
    """Return the stacks of all threads with open calls, by rank, then those of other processes that run or were
    killed; and sentences about collectives that not all ranks have called. ``incomplete`` is called with a line for
    each recording that is truncated or damaged. Raises Error if the path is not a recording or run directory."""
    found: list[Stack] = []
    traces: list[Trace] = []
    now: dict[int, int] = {}
    for trace, paths in _read(recordings(path)):
        for line in trace.incomplete:
            incomplete(line)
        traces.append(trace)
        for rank, each in zip(trace.ranks, paths, strict=True):
            live = run_directory.is_live(each)
            last = max([rank["seen_alive"], *rank["threads"]["last"]])
            now[rank["rank"]] = rank["start_monotonic"] + last
            found += stacks_of(trace, rank, live)
    collectives = _collectives(traces, found, now)
    for name, trace, live in live_children(path):
        found += (replace(stack, process=name) for stack in stacks_of(trace, trace.ranks[0], live))
    return found, collectives


def _read(paths: list[Path]) -> Iterator[tuple[Trace, list[Path]]]:
    """Yield traces of some recordings each, with their files by rank. Recordings that do not fit together are read one
    by one."""
    for first in range(0, len(paths), _AT_ONCE):
        some = sorted(paths[first : first + _AT_ONCE], key=lambda path: rank_in_header(str(path)) or 0)
        try:
            together = load_part(*some, only="open_calls")
        except Error:
            together = None
        if together is not None and len(together.ranks) == len(some):
            yield together, some
        else:
            for each in some:
                trace = load_part(each, only="open_calls")
                yield trace, [each] * len(trace.ranks)  # a merge has several ranks


def _collectives(traces: list[Trace], found: list[Stack], now: dict[int, int]) -> list[str]:
    """Without figures of groups, compare the calls of operators, if a rank is in a function of torch.distributed."""
    groups = compared_groups(traces)
    if groups:
        return list(differences(groups, now))
    waiting = any(call.startswith(("torch/distributed/", "c10d::")) for stack in found for call in stack.calls)
    return list(operator_differences(traces)) if waiting else []


def stacks_of(trace: Trace, rank: dict[str, Any], live: bool) -> Iterator[Stack]:
    sources = Sources(trace)
    nodes, contexts = trace.nodes, trace.contexts
    state = "killed" if rank["state"] == "running" and not live else rank["state"]
    for thread, role in enumerate(rank["threads"]["role"]):
        found = [
            (contexts["node"][context], age, line)
            for which, context, age, line in rows(rank["open"], "thread context age line")
            if which == thread and nodes["kind"][contexts["node"][context]] != "thread"
        ]
        if found:
            of, ages, lines = zip(*found, strict=True)
            calls, kinds = (tuple(nodes[name][node] for node in of) for name in ("key", "kind"))
            source = sources.text(of[-1], lines[-1])
            yield Stack(rank["rank"], state, role, rank["run_steps"], calls, kinds, ages, lines, source=source)


def grouped(found: list[Stack]) -> list[list[Stack]]:
    """Group threads by equal calls and state, the largest group last: in a hang, the small groups matter."""
    groups: dict[tuple[str, str, str, tuple[str, ...]], list[Stack]] = {}
    for stack in found:
        kind = stack.process.rpartition("-")[0].rstrip("0123456789")
        groups.setdefault((stack.state, kind, stack.thread, stack.calls), []).append(stack)
    return sorted(groups.values(), key=lambda each: (len(each), each[0].rank))


class LiveFigures(NamedTuple):
    """Calls, self and total time (ns) of a function so far."""

    kind: str
    calls: int
    own: int
    total: int


_NONE = LiveFigures("", 0, 0, 0)


@dataclass(frozen=True)
class Sample:
    """Figures of a run, by key, at one moment (of the monotonic clock, s)."""

    at: float
    figures: dict[str, LiveFigures]
    whole: int  # ns of 100 %: time of the main threads
    ranks: list[dict[str, Any]]
    ended: int  # recordings that have stopped or whose process is gone
    processes: list[Processes]


def sample(path: str) -> Sample:
    """Return the current figures of a run, summed over ranks."""
    found = recordings(path)
    trace = load_part(*found, only="totals")
    kinds = trace.nodes["kind"]
    figures = {
        where: LiveFigures(kinds[node], calls, own, total)
        for where, node, calls, own, total in rows(trace.table("node"), "where node calls self total")
        if kinds[node] != "thread"
    }
    ended = sum(not run_directory.is_live(each) for each in found)
    others = processes(path, trace)
    return Sample(time.monotonic(), figures, whole_time(trace, trace.ranks), trace.ranks, ended, others)


@dataclass(frozen=True)
class Rate:
    """A function in the time between two samples: calls per second, and shares of the time of main threads."""

    key: str
    kind: str
    calls: float
    own: float
    total: float

    def as_json(self) -> dict[str, Any]:
        return {"key": self.key, "kind": self.kind, "calls": self.calls, "self": self.own, "total": self.total}


def rates(before: Sample | None, after: Sample) -> list[Rate]:
    """Return the functions that ran between two samples, by self time; without the first, since the start."""
    earlier = before.figures if before is not None else {}
    began = before.at if before is not None else after.at - max(rank["recorded"] for rank in after.ranks) / 1e9
    seconds = max(after.at - began, 1e-9)
    whole = max(after.whole - (before.whole if before is not None else 0), 1)
    found = []
    for key, now in after.figures.items():
        then = earlier.get(key, _NONE)
        if now.calls > then.calls or now.own > then.own:
            calls = (now.calls - then.calls) / seconds
            found.append(Rate(key, now.kind, calls, (now.own - then.own) / whole, (now.total - then.total) / whole))
    return sorted(found, key=lambda rate: (-rate.own, rate.key))
