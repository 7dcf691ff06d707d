"""When a rank was slow: the steps in which a call path took longer than usual, and their time of day."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from fastdispatch.read.trace import Trace

#: Share of the steps of an interval that must be slow. Steps outside it must be usual.
_DENSE = 0.8

#: An interval with more of the steps is the whole recording.
_MOST = 0.9


class SlowSteps(NamedTuple):
    """Numbers of the first and the last slow step, of the slow ones among ``steps`` latest steps, and the times (ns
    since 1970, UTC) at which the first began and the last ended."""

    first: int
    last: int
    slow: int
    steps: int
    begin: int
    end: int

    def __str__(self) -> str:
        if self.slow > _MOST * self.steps:
            return f"in {self.slow} of the latest {self.steps} steps"
        all_slow = self.slow == self.last - self.first + 1
        where = f"in step {self.first}" if self.slow == 1 else f"in steps {self.first} to {self.last}"
        where += "" if all_slow else f" ({self.slow} of them)"
        return f"{where}, {_clock(self.begin)} to {_clock(self.end)} UTC"


def _clock(ns: int) -> str:
    return time.strftime("%H:%M:%S", time.gmtime(ns // 1_000_000_000))


def slow_steps(rank: Mapping[str, Any], context: int, usual: float, extra: float) -> SlowSteps | None:
    """Return the latest steps in which the self time (ns) of a context exceeds ``usual`` by at least half of ``extra``,
    the excess per step; None if these steps are not in one interval, or if the recording lists no such step.

    Only the most expensive contexts of each step are known. A context that is not among them counts as usual.
    """
    latest, tops = rank["latest_steps"], rank["step_tops"]
    times = {
        step: self for step, of, self in zip(tops["step"], tops["context"], tops["self"], strict=True) if of == context
    }
    numbers: Sequence[int] = latest["number"]
    slow = [row for row, number in enumerate(numbers) if times.get(number, 0) > usual + extra / 2]
    if not slow or len(slow) < _DENSE * (slow[-1] - slow[0] + 1):
        return None
    start = rank["start_realtime"]
    first, last = slow[0], slow[-1]
    return SlowSteps(
        numbers[first],
        numbers[last],
        len(slow),
        len(numbers),
        start + latest["begin"][first],
        start + latest["end"][last],
    )


_CallKey = tuple[str, int, str]


def same_path(trace: Trace, context: int, other: Trace) -> int | None:
    """Return the context of another trace with the same functions and modules from the root, and the same origin."""
    wanted = _path(trace, context), _origin(trace, context)
    key = trace.nodes["key"][trace.contexts["node"][context]]
    return next(
        (
            row
            for row, node in enumerate(other.contexts["node"])
            if other.nodes["key"][node] == key and (_path(other, row), _origin(other, row)) == wanted
        ),
        None,
    )


def _path(trace: Trace, context: int) -> list[_CallKey]:
    nodes, modules, contexts = trace.nodes, trace.modules, trace.contexts
    path: list[_CallKey] = []
    while context >= 0:
        node, module = contexts["node"][context], contexts["module"][context]
        path.append((nodes["key"][node], nodes["line"][node], modules["path"][module] if module >= 0 else ""))
        context = contexts["parent"][context]
    return path


def _origin(trace: Trace, context: int) -> list[_CallKey]:
    return _path(trace, trace.contexts["origin"][context])
