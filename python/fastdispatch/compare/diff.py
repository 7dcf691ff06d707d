"""Changes between two recordings, or between two ranks of one: ``diff`` (docs/guides/diff.md)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from fastdispatch.compare.diff_measured import MeasuredDiff, Pair, measured_diff
from fastdispatch.compare.diff_verdict import CHANGES, FIGURES, DiffVerdict, verdict
from fastdispatch.dataset.run_loading import load_run
from fastdispatch.read.steps import number_of_ranks, step_time
from fastdispatch.read.summary import entries_of, whole_time
from fastdispatch.read.trace import PathLike, Steps, Trace, load
from fastdispatch.read.waiting import busy_time, mean_work, work_of_ranks

#: Changes that are kinds of rows.
_KINDS = {"collection", "communication"}

CompareBy = Literal["node", "module", "package"]

_TOP = 20


@dataclass(frozen=True)
class DiffRow:
    """A function, operator, ... of at least one side."""

    key: str
    kind: str
    changes: frozenset[str]
    calls: Pair
    self: Pair
    total: Pair
    backward: Pair
    asynchronous: Pair
    gpu: Pair
    spread: Pair
    explained: dict[str, float]  # of EXPLAINED; empty: of modules and packages

    @property
    def is_record(self) -> bool:
        """Whether these are asynchronous records of a back end: the calls that start them are compared."""
        return not self.total.before + self.total.after and bool(self.asynchronous.before + self.asynchronous.after)

    def as_json(self) -> dict[str, Any]:
        figures = {name: getattr(self, "asynchronous" if name == "async" else name) for name in FIGURES}
        changes = sorted(self.changes - _KINDS, key=CHANGES.index)
        return {"key": self.key, "kind": self.kind, "changes": changes} | {
            name: [pair.before, pair.after] for name, pair in figures.items()
        }


@dataclass(frozen=True)
class DiffCall:
    """Calls between a caller (None: the outside) and a callee, on at least one side."""

    caller: DiffRow | None
    callee: DiffRow
    changes: frozenset[str]
    calls: Pair

    @property
    def follows(self) -> bool:
        """Whether the number per call of the caller is unchanged: then the caller changed, not this. Calls of operators
        follow from their arguments."""
        if self.caller is None or self.caller.changes & {"new", "gone"}:
            return True
        if "calls" in self.caller.changes and self.caller.kind in ("op", "autograd"):
            return True
        before, after = self.caller.calls.before, self.caller.calls.after
        return bool(before and after) and abs(self.calls.before / before - self.calls.after / after) < 1e-9

    def as_json(self) -> dict[str, Any]:
        changes = sorted(self.changes, key=CHANGES.index)
        ends = {"caller": self.caller.key if self.caller else None, "callee": self.callee.key}
        return ends | {"changes": changes, "calls": [self.calls.before, self.calls.after]}


@dataclass(frozen=True)
class Side:
    """One side: its name, rank (None: all), ended steps (summed over ranks) and time of the median step, or of the main
    threads, ns. ``mean``: of the mean step."""

    name: str
    rank: int | None
    ranks: int
    steps: int
    whole: float
    mean: float
    window: str  # the steps that the figures cover; "": the whole recording

    def as_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("name", "rank", "steps", "whole", "window")}


def diff(
    before: Trace | PathLike | Sequence[PathLike],
    after: Trace | PathLike | Sequence[PathLike],
    *,
    by: CompareBy = "node",
    threshold: float = 0.1,
    rank: int | None = None,
    steps: Steps = "settled",
) -> Diff:
    """Compare two recordings (docs/guides/diff.md): ``print`` prints the changes, ``as_json()`` returns them.

    ``before`` and ``after`` are as for :func:`fastdispatch.load`, data sets, or loaded traces, for which ``steps`` has
    no effect. A run directory of more than 16 ranks and a data set are read as a sum of ranks. If the settled steps of
    one side are not decided, whole recordings are compared. ``by``: ``node``, ``module`` or ``package``; ``threshold``:
    minimum relative change of a time; ``rank``: only this rank. Raises :class:`fastdispatch.Error` for other inputs.
    """
    sides = [_read(side, steps, rank) for side in (before, after)]
    if (sides[0].window is None) != (sides[1].window is None):
        sides = [_read(side, None, rank) for side in (before, after)]
    return Diff(sides[0], sides[1], (sides[0].name, sides[1].name), (rank, rank), by, threshold)


def _read(side: Trace | PathLike | Sequence[PathLike], steps: Steps, rank: int | None) -> Trace:
    if isinstance(side, Trace):
        return side
    return load_run(side, steps=steps, rank=rank) if isinstance(side, (str, os.PathLike)) else load(side, steps=steps)


class Diff:
    """Two traces compared: ``str`` returns the text of ``fastdispatch diff``, a notebook displays it.

    ``by``: ``node`` (functions, operators, ranges), ``module`` or ``package``. ``threshold``: minimum relative change
    of a time to report, beyond twice the spread of steps and half a percent of the step. ``same_speed``: keep the
    speed difference common to all rows, as between ranks of one run. Raises ``ArgumentError`` for another ``by``, Error
    for a missing rank.
    """

    def __init__(
        self,
        before: Trace,
        after: Trace,
        names: tuple[str, str] = ("before", "after"),
        ranks: tuple[int | None, int | None] = (None, None),
        by: str = "node",
        threshold: float = 0.1,
        *,
        same_speed: bool = False,
    ) -> None:
        from fastdispatch.compare.diff_rows import DiffRequest, compared_rows  # numpy: after the traces are read

        self.by, self.threshold, self.same_speed = by, threshold, same_speed
        before, self.scripts = same_script(before, after)
        self.traces = (before, after)
        pairs = list(zip(self.traces, ranks, strict=True))
        works = [mean_work(work, rank)[0] for work, rank in zip(self.rank_work, ranks, strict=True)]
        #: Time per step on a CPU or in the queue for one, and on a CPU, ns; 0: unknown.
        busy, self.cpu = ([_busy(*pair, queue) for pair in pairs] for queue in (True, False))
        #: Time per step of work in which main threads could run but had no CPU, ns; 0 also if it is unknown. That after
        #: a wait for other ranks is part of the wait.
        self.queue = [_queue(*times) for times in zip(busy, self.cpu, works, strict=True)]
        #: Time per step in which main threads sleep, wait for a device, a file or a lock, ns; 0: unknown.
        idle = [max(work - time, 0.0) if all(busy) else 0.0 for work, time in zip(works, busy, strict=True)]
        indexes = [trace.index(rank) for trace, rank in pairs]
        self.found = compared_rows(
            DiffRequest(self.traces, indexes, by, threshold, same_speed, busy, idle, self.queue, works)
        )
        #: Speed of the machine: after / before of unchanged rows. Rows are judged without it; their figures include it.
        self.speed = self.found.speed
        self._of_ranks: dict[int, Diff] = {}
        self.sides = [_side(*side) for side in zip(names, self.traces, ranks, self.found.steps, strict=True)]

    def __str__(self) -> str:
        from fastdispatch.compare.diff_text import lines

        return "\n".join(lines(self, top=_TOP))

    def _repr_html_(self) -> str | None:
        try:
            from fastdispatch.text.notebook_html import pre
        except ModuleNotFoundError:  # without the extra `view`
            return None
        return pre(str(self).splitlines())

    @property
    def by_step(self) -> bool:
        """Whether figures are per step; else of whole runs."""
        return bool(self.sides[0].steps)

    @property
    def machine_differs(self) -> bool:
        """Whether the speed of the machine is part of the output."""
        return abs(self.speed - 1) >= 0.02

    @cached_property
    def _all_rows(self) -> list[DiffRow]:
        found = self.found
        figures = ([Pair(*pair) for pair in found.figures[name].T.tolist()] for name in FIGURES)
        explained = [
            dict(zip(found.explained, each, strict=True))
            for each in zip(*(figure.tolist() for figure in found.explained.values()), strict=True)
        ]
        explained = explained or [{}] * len(found.keys)
        columns = (found.keys, found.kinds, map(_changes, found.changes.tolist()), *figures, explained)
        return [DiffRow(*row) for row in zip(*columns, strict=True)]

    @cached_property
    def _all_calls(self) -> list[DiffCall]:
        rows, found = [*self._all_rows, None], self.found
        columns = (found.callers, found.callees, map(_changes, found.call_changes.tolist()), found.calls.T.tolist())
        return [
            DiffCall(rows[caller], self._all_rows[callee], changes, Pair(*calls))
            for caller, callee, changes, calls in zip(*columns, strict=True)
        ]

    @cached_property
    def rows(self) -> list[DiffRow]:
        """The compared rows: all but garbage collections, which happen at any moment."""
        return [row for row in self._all_rows if "collection" not in row.changes]

    @cached_property
    def calls(self) -> list[DiffCall]:
        """Calls without those of garbage collections and below them."""
        return [call for call in self._all_calls if "collection" not in call.changes]

    @cached_property
    def collections(self) -> list[DiffRow]:
        """Garbage collections by generation: not compared."""
        return [row for row in self._all_rows if "collection" in row.changes]

    @cached_property
    def collection_calls(self) -> list[DiffCall]:
        """Calls of garbage collections and below them: not compared."""
        return [call for call in self._all_calls if "collection" in call.changes]

    def time(self, row: DiffRow) -> Pair:
        """Return the compared time: self time, for modules total time, corrected for the speed of the machine."""
        pair = row.total if self.by == "module" else row.self
        return Pair(pair.before * self.speed, pair.after)

    @cached_property
    def rank_work(self) -> list[dict[int, tuple[float, float, int]]]:
        """Work, communication and steps of the ranks of both sides (read/waiting.py)."""
        return list(map(work_of_ranks, self.traces))

    @property
    def cpu_speed(self) -> float:
        """The speed of the machine while it runs a thread: of the fastest steps, if the time without a CPU is known."""
        return self.found.least_speed if any(self.queue) else self.speed

    def of_rank(self, rank: int) -> Diff:
        """Return the comparison of this rank alone."""
        if rank not in self._of_ranks:
            names, options = (self.sides[0].name, self.sides[1].name), (self.by, self.threshold)
            made = Diff(*self.traces, names, (rank, rank), *options, same_speed=self.same_speed)
            self._of_ranks[rank] = made
        return self._of_ranks[rank]

    @cached_property
    def measured(self) -> MeasuredDiff:
        """How GPU time, FLOPs, communicated bytes and the peak of memory changed."""
        ranks = self.sides[0].rank, self.sides[1].rank
        return measured_diff((self.traces[0], self.traces[1]), ranks, self.by_step)

    @cached_property
    def verdict(self) -> DiffVerdict:
        """How the time of a step changed, in a sentence."""
        return verdict(self)

    def effect(self, changed: DiffRow | DiffCall) -> float:
        """Return the time that a step has more or less by a change, ns: of a new or removed row all below it, of a
        call its number times the mean time of such calls."""
        if isinstance(changed, DiffRow):
            whole = changed.changes & {"new", "gone"}
            pair = Pair(changed.total.before * self.speed, changed.total.after) if whole else self.time(changed)
            return abs(pair.change)
        callee, number = changed.callee, changed.calls.change
        total, calls = callee.total.after, callee.calls.after
        if number <= 0:
            total, calls = callee.total.before * self.speed, callee.calls.before
        return abs(number) * total / calls if calls else 0.0

    def changed(self) -> list[DiffRow]:
        """Return rows that are new, gone, slower or faster, the largest effect first."""
        found = [row for row in self.rows if row.changes - {"calls", *_KINDS} and not row.is_record]
        return sorted(found, key=lambda row: (-self.effect(row), row.key))

    def changed_calls(self) -> list[DiffCall]:
        """Return calls whose number per call of the caller changed, the largest effect first."""
        found = [call for call in self.calls if call.changes and not call.follows and not call.callee.is_record]
        return sorted(found, key=lambda call: (-self.effect(call), -abs(call.calls.change), call.callee.key))

    def own_keys(self) -> set[str]:
        """Return the keys of functions of the program, without libraries."""
        return {
            key.partition("@")[0]
            for trace in self.traces
            for key, kind, source in zip(*(trace.nodes[name] for name in ("key", "kind", "from")), strict=True)
            if kind == "python" and source == "project"
        }

    def as_json(self, *, everything: bool = False) -> dict[str, Any]:
        """Return the document of docs/reference/schemas/diff.schema.json. ``everything``: include unchanged rows and
        calls."""
        return {
            "format": "fastdispatch.diff",
            "version": 1,
            "by": self.by,
            "per": "step" if self.by_step else "run",
            "threshold": self.threshold,
            "speed": self.speed,
            "verdict": self.verdict.as_json(),
            **{end: side.as_json() for end, side in zip(("before", "after"), self.sides, strict=True)},
            "rows": [row.as_json() for row in (self.rows if everything else self.changed())],
            "calls": [call.as_json() for call in (self.calls if everything else self.changed_calls())],
            "collections": [row.as_json() for row in self.collections],
            "measured": [each.as_json() for each in self.measured.figures],
        }


def _side(name: str, trace: Trace, rank: int | None, steps: int) -> Side:
    ranks = entries_of(trace, rank)
    time = whole_time(trace, ranks)
    mean = time / steps if steps else time
    whole = (step_time(ranks) or mean) if steps else time
    window = trace.window.text if trace.window is not None else ""
    return Side(name, rank, number_of_ranks(ranks), steps, whole, mean, window)


def _busy(trace: Trace, rank: int | None, queue: bool) -> float:
    return busy_time(trace, entries_of(trace, rank), queue=queue)


def _queue(busy: float, cpu: float, work: float) -> float:
    return min(busy - cpu, max(work - cpu, 0.0)) if cpu else 0.0


def _changes(bits: int) -> frozenset[str]:
    return frozenset(name for index, name in enumerate(CHANGES) if bits >> index & 1)


#: Share of the names of functions that both scripts have, without the names that most scripts have.
_ALIKE = 0.5
_COMMON = {("", "<module>"), ("", "main")}


@dataclass(frozen=True)
class Scripts:
    """The names of the started scripts if they differ, and whether the functions of one are compared with those of the
    other."""

    before: str = ""
    after: str = ""
    same: bool = True

    def __str__(self) -> str:
        if self.same:
            return f"{self.before} is now {self.after}: their functions are compared" if self.before else ""
        return f"the programs have different files: {self.before}, {self.after}"


def same_script(before: Trace, after: Trace) -> tuple[Trace, Scripts]:
    """Return the trace before, with the name that the started script has now, and both names if they differ."""
    was, now = _started(before), _started(after)
    if not was or not now or was == now:
        return before, Scripts()
    names = [_functions(before, was), _functions(after, now)]
    fewest = min(map(len, names))
    is_alike = len(names[0] & names[1]) >= _ALIKE * fewest if fewest else names[0] == names[1]
    if not is_alike or now in before.nodes["file"] or was in after.nodes["file"]:
        return before, Scripts(was, now, same=False)
    return _renamed(before, was, now), Scripts(was, now)


def _renamed(trace: Trace, was: str, now: str) -> Trace:
    """Return the trace with another name of a file."""
    renamed, nodes = Trace(trace.core), trace.nodes
    renamed.sources, renamed.rank_rows = trace.sources, trace.rank_rows
    keys = zip(nodes["file"], nodes["key"], strict=True)
    renamed.nodes = nodes | {
        "file": [now if file == was else file for file in nodes["file"]],
        "key": [now + key.removeprefix(was) if file == was else key for file, key in keys],
    }
    return renamed


def _started(trace: Trace) -> str:
    """Return the file of the started script as keys of functions have it; "" if it is unknown."""
    files = {file for file, source in zip(trace.nodes["file"], trace.nodes["from"], strict=True) if source == "project"}
    for rank in trace.ranks:
        words = rank["meta"].get("command")
        for word in words if isinstance(words, list) else []:
            found = [file for file in files if os.path.basename(file) == os.path.basename(str(word))]
            if str(word).endswith(".py") and found:
                return str(min(found, key=len))
    return ""


def _functions(trace: Trace, file: str) -> set[tuple[str, str]]:
    nodes = trace.nodes
    return {
        (owner, name)
        for of, owner, name in zip(nodes["file"], nodes["class"], nodes["name"], strict=True)
        if of == file
    } - _COMMON
