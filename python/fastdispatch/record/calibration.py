"""Cost of one recorded event on this machine, so that a recording can state its own overhead.

The cost of a Python call is that of an empty function, recorded minus plain; the cost of an operator is that of one
that does almost nothing. Both are minima over short loops in alternating rounds, so that a busy machine slows both
sides equally, measured once per process while nothing records.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import nullcontext
from functools import cache
from time import perf_counter_ns

from fastdispatch import _core
from fastdispatch.record import probe
from fastdispatch.record.dispatch import DispatchMode
from fastdispatch.record.timeline import Timeline

_CALLS, _OPERATORS, _REPEATS, _ROUNDS = 1000, 100, 5, 4

# Not in a file of this package: functions of this package are not recorded.
_PROGRAM = """
def empty(): pass
def loop(count):
    for _ in range(count): empty()
"""


def _best(work: Callable[[], object]) -> int:
    times = []
    for _ in range(_REPEATS):
        begin = perf_counter_ns()
        work()
        times.append(perf_counter_ns() - begin)
    return min(times)


#: Every event of every kind, overwriting the same memory.
_EVENTS = Timeline(when_full="overwrite").core()


def _recorded(work: Callable[[], object], *, timing: bool, events: bool, calls: int, ops: str) -> int:
    """Return the time of ``work`` during a recording in memory."""
    session = _core.Session(None, max_mb=1, timing=timing, calls=calls, timeline=_EVENTS if events else None)
    session.start()
    try:
        if ops == "record":
            session.attach_records(probe.run)
        with DispatchMode() if ops == "dispatch" else nullcontext():
            work()
            return _best(work)
    finally:
        session.stop()


def _added(recorded: Callable[[], int], plain: Callable[[], int], count: int) -> float:
    """Return the nanoseconds that recording adds to one of ``count`` events."""
    rounds = [(recorded(), plain()) for _ in range(_ROUNDS)]
    return max(min(with_it for with_it, _ in rounds) - min(without for _, without in rounds), 0) / count


@cache
def call_cost(timing: bool, events: bool = False) -> float:
    """Return the nanoseconds that recording adds to a Python call, with or without its event in the timeline."""
    namespace: dict[str, Callable[[int], None]] = {}
    exec(compile(_PROGRAM, "<calibration>", "exec"), namespace)

    def work() -> None:
        namespace["loop"](_CALLS)

    work()
    return _added(
        lambda: _recorded(work, timing=timing, events=events, calls=1, ops="off"), lambda: _best(work), _CALLS
    )


@cache
def operator_cost(source: str, timing: bool, events: bool = False) -> float:
    """Return the nanoseconds that recording adds to an operator, including PyTorch's part. Requires PyTorch."""
    torch = sys.modules["torch"]
    tensor = torch.ones(1)

    def work() -> None:
        for _ in range(_OPERATORS):
            tensor.view(1)

    with torch.no_grad():
        work()
        return _added(
            lambda: _recorded(work, timing=timing, events=events, calls=0, ops=source),
            lambda: _best(work),
            _OPERATORS,
        )
