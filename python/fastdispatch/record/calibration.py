"""Cost of one recorded event on this machine, so that a recording can state its own overhead.

The cost of a Python call is that of an empty function, recorded minus plain; the cost of an operator is that of one
that does almost nothing. Both are differences of minima over short loops in alternating rounds. A minimum counts when
several rounds agree on it, and at least two measurements at different times contribute, at the start and at the end
of a recording: a spell of other work on the machine does not raise the cost. Nothing records meanwhile.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import nullcontext, suppress
from time import perf_counter_ns

from fastdispatch import _core
from fastdispatch.record import probe
from fastdispatch.record.dispatch import DispatchMode
from fastdispatch.record.environment import CALLS, CallSource, source_of_calls
from fastdispatch.record.timeline import Timeline

_CALLS, _OPERATORS, _REPEATS = 1000, 100, 2

#: A measurement ends when this many rounds of each side agree within the tolerance, or after the limit.
_AGREEING, _TOLERANCE, _ROUNDS, _LIMIT = 3, 1.05, 6, 60

#: Later measurements of the same cost return the earlier result.
_MEASUREMENTS = 2

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


class Rounds:
    """Times of alternating rounds of the same work, recorded and plain, from one or several measurements."""

    def __init__(self) -> None:
        self.recorded: list[int] = []
        self.plain: list[int] = []
        self.measurements = 0

    def measure(self, recorded: Callable[[], int], plain: Callable[[], int]) -> None:
        """Add rounds until the minima of both sides are confirmed."""
        self.measurements += 1
        for count in range(1, _LIMIT + 1):
            self.recorded.append(recorded())
            self.plain.append(plain())
            if count >= _ROUNDS and _confirmed(self.recorded) and _confirmed(self.plain):
                return

    def added(self) -> int:
        """Return the nanoseconds that recording adds to the work."""
        return max(min(self.recorded) - min(self.plain), 0)


def _confirmed(times: list[int]) -> bool:
    lowest = sorted(times)[:_AGREEING]
    return len(lowest) == _AGREEING and lowest[-1] <= _TOLERANCE * lowest[0]


_CALL_ROUNDS: dict[tuple[bool, bool, str], Rounds] = {}
_OPERATOR_ROUNDS: dict[tuple[str, bool, bool], Rounds] = {}


def costs(calls: CallSource, operators: str, timing: bool, events: bool) -> dict[str, float]:
    """Return the costs of the events that a recording has; ``operators`` is the wanted source, or ``off``."""
    found = {} if calls == "off" else {"python_call": call_cost(timing, events, calls)}
    if operators != "off" and "torch" in sys.modules:
        with suppress(_core.Error):  # records are refused here: the source is not known yet
            found["operator"] = operator_cost("dispatch" if operators == "dispatch" else "record", timing, events)
    return found


def call_cost(timing: bool, events: bool = False, calls: CallSource = "auto") -> float:
    """Return the nanoseconds that recording adds to a Python call, with or without its event in the timeline."""
    source = source_of_calls(calls)
    rounds = _CALL_ROUNDS.setdefault((timing, events, source), Rounds())
    if rounds.measurements < _MEASUREMENTS:
        _measure_calls(rounds, timing, events, CALLS[source])
    return rounds.added() / _CALLS


def _measure_calls(rounds: Rounds, timing: bool, events: bool, calls: int) -> None:
    namespace: dict[str, Callable[[int], None]] = {}
    exec(compile(_PROGRAM, "<calibration>", "exec"), namespace)

    def work() -> None:
        namespace["loop"](_CALLS)

    work()
    rounds.measure(lambda: _recorded(work, timing=timing, events=events, calls=calls, ops="off"), lambda: _best(work))


def operator_cost(source: str, timing: bool, events: bool = False) -> float:
    """Return the nanoseconds that recording adds to an operator, including PyTorch's part. Requires PyTorch."""
    rounds = _OPERATOR_ROUNDS.setdefault((source, timing, events), Rounds())
    if rounds.measurements < _MEASUREMENTS:
        _measure_operators(rounds, source, timing, events)
    return rounds.added() / _OPERATORS


def _measure_operators(rounds: Rounds, source: str, timing: bool, events: bool) -> None:
    torch = sys.modules["torch"]
    tensor = torch.ones(1)

    def work() -> None:
        for _ in range(_OPERATORS):
            tensor.view(1)

    with torch.no_grad():
        work()
        rounds.measure(lambda: _recorded(work, timing=timing, events=events, calls=0, ops=source), lambda: _best(work))
