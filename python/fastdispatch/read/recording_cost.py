"""The cost of recording: the difference between recorded or followed steps and others beside them
(``record/budget.py``)."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from fastdispatch.read.steps import REDUCED, budgeted_steps, ended_steps, recorded_steps, steps_of_run, time_of_run
from fastdispatch.text.formats import grouped

#: Fewer comparisons do not decide the cost.
_FEWEST = 8

#: A smaller standard error of the share of the run is not printed, nor are smaller shares of followed calls and of the
#: recorder itself.
_PRECISE = 0.005
_NOTICEABLE = 0.001

#: Nanoseconds that a followed call costs, and their uncertainty, if no step without such calls was beside, and that the
#: first call of a call path costs more than others (docs/concepts/overhead.md).
_FOLLOWED_CALL, _FOLLOWED_ERROR = 150, 60
_FIRST_CALL, _FIRST_ERROR = 3000, 1000

#: Part of the time of followed and watched steps by which all of them may be longer, so that no comparison shows it:
#: such as calls that CPython specializes again (docs/concepts/overhead.md).
_UNSEEN = 0.01

_WITHOUT_BUDGET = "the default budget measures it (omit --steps)"


@dataclass(frozen=True)
class RecordingCost:
    """The cost of recording a run, of the rank with the highest. ``None``: not decided."""

    share: float | None = None  # of the time of the run
    error: float | None = None  # standard error of the share
    of_recorded_step: float | None = None  # of the time of a step that is not recorded
    error_of_step: float = 0.0  # standard error of that
    method: str = "not decided"  # or measured
    reason: str = ""  # why it is not decided
    steps_recorded: int = 0
    steps: int = 0
    followed: float = 0.0  # share of followed calls of the other steps, in ``share``
    own: float = 0.0  # share of start, stop, the ends of steps and first calls, in ``share``

    @property
    def text(self) -> str:
        if self.share is None or self.error is None or self.of_recorded_step is None:
            return f"cost of recording: not decided: {self.reason}"
        step = f"{100 * self.of_recorded_step:.1f} ± {100 * self.error_of_step:.1f} % of a step"
        doubt = f" ± {100 * self.error:.1f}" if self.error > max(self.share, _PRECISE) or self.followed else ""
        of = f"{grouped(self.steps_recorded)} of {grouped(self.steps)} steps are recorded"
        others = [("open calls of the others", self.followed), ("start, stop, ends of steps and first calls", self.own)]
        parts = "".join(f", {name} {100 * part:.1f} %" for name, part in others if part >= _NOTICEABLE)
        if not parts:
            return f"recorded steps cost {100 * self.share:.1f}{doubt} % of the run ({step} each; {of})"
        return (
            f"recording costs {100 * self.share:.1f}{doubt} % of the run: recorded steps"
            f" {100 * (self.share - self.followed - self.own):.1f} % ({step} each; {of}){parts}"
        )


def recording_cost(ranks: Iterable[Mapping[str, Any]]) -> RecordingCost:
    return max(map(_cost, ranks), key=lambda cost: (cost.share or 0, cost.error or 0), default=RecordingCost())


def _cost(rank: Mapping[str, Any]) -> RecordingCost:
    run, ended = steps_of_run(rank), ended_steps(rank)
    if run is None:
        reason = "a sum of ranks: give one rank" if REDUCED in rank["meta"] else _WITHOUT_BUDGET
        recorded = recorded_steps(rank)
        shares = f"{grouped(recorded)} of {grouped(ended)} steps are recorded"
        if budgeted_steps(rank) is not None:
            reason = f"all {grouped(ended)} steps were recorded" if ended else "no steps were found"
            if recorded < ended:
                reason = f"{shares}: the others are too few to compare"
        return RecordingCost(reason=reason, steps_recorded=recorded, steps=ended)
    recorded, samples, time = max(run["recorded"], recorded_steps(rank)), run["samples"], time_of_run(rank)
    if samples < _FEWEST or not time or not {"step", "cost", "cost_error"} <= run.keys():
        reason = f"{samples} of {recorded} recorded steps could be compared with others, at least {_FEWEST} are needed"
        return RecordingCost(reason=reason, steps_recorded=recorded, steps=ended)
    step = run["step"]
    if {"queued", "step_work"} <= run.keys() and run["queued"] < run["time"]:  # by processor time
        step, time = max(run["step_work"], 1), time * (1 - run["queued"] / run["time"])
    cost, paths = max(run["cost"], 0), run.get("paths", 0)
    followed, error = _followed(run)
    own = run.get("own", 0) + paths * _FIRST_CALL
    return RecordingCost(
        share=(recorded * cost + followed + own) / time,
        error=math.hypot(recorded * run["cost_error"], error, paths * _FIRST_ERROR) / time,
        of_recorded_step=cost / step,
        error_of_step=run["cost_error"] / step,
        method="measured",
        steps_recorded=recorded,
        steps=ended,
        followed=followed / time,
        own=own / time,
    )


def _followed(run: Mapping[str, Any]) -> tuple[float, float]:
    """Return the cost of followed calls and its error, ns: measured, or by the number of calls."""
    steps, others = run["steps"], run["steps"] - run["recorded"]
    calls = run.get("followed_calls", 0) * steps // others if others else 0
    unseen = _UNSEEN * run["time"] * others / steps if calls else 0.0
    if {"follow_cost", "follow_error"} <= run.keys():
        followed = run.get("followed", 0)
        return followed * max(run["follow_cost"], 0), math.hypot(followed * run["follow_error"], unseen)
    # Recorded steps are compared with followed ones: they pay for as many calls.
    return calls * _FOLLOWED_CALL, math.hypot(calls * _FOLLOWED_ERROR, unseen)
