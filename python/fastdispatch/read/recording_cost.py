"""The cost of recording: the difference between recorded steps and others beside them (``record/budget.py``)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from fastdispatch.text.formats import grouped

#: The fact of a recording that has unrecorded steps (docs/formats/recording.md).
STEPS_OF_RUN = "steps_of_run"

_FIGURES = {"steps", "recorded", "time", "samples"}

#: Fewer comparisons do not decide the cost.
_FEWEST = 8

_ALL_RECORDED = "every step was recorded (see run --budget)"


@dataclass(frozen=True)
class RecordingCost:
    """The cost of the recorded steps of a run, of the rank with the highest. ``None``: not decided."""

    share: float | None  # of the time of the run
    error: float | None  # standard error of the share
    of_recorded_step: float | None  # of the time of a step that is not recorded
    method: str  # measured or not decided
    reason: str  # why it is not decided
    steps_recorded: int
    steps: int

    @property
    def text(self) -> str:
        if self.share is None or self.error is None or self.of_recorded_step is None:
            return f"cost of recording: not decided: {self.reason}"
        error = self.error / self.share * self.of_recorded_step if self.share else 0
        step = f"{100 * self.of_recorded_step:.1f} ± {100 * error:.1f} % of a step"
        return (
            f"recorded steps cost {100 * self.share:.1f} % of the run ({step} each;"
            f" {grouped(self.steps_recorded)} of {grouped(self.steps)} steps are recorded)"
        )


def steps_of_run(rank: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the steps of a rank that records some of them; ``None`` if it records all."""
    found = rank["meta"].get(STEPS_OF_RUN)
    if not isinstance(found, dict) or not found.keys() >= _FIGURES:
        return None
    valid = all(isinstance(value, (int, float)) and (value >= 0 or name == "cost") for name, value in found.items())
    return found if valid else None


def recording_cost(ranks: Iterable[Mapping[str, Any]]) -> RecordingCost:
    costs = [_cost(rank) for rank in ranks]
    return max(
        costs, key=lambda cost: cost.share or 0, default=RecordingCost(None, None, None, "not decided", "", 0, 0)
    )


def _cost(rank: Mapping[str, Any]) -> RecordingCost:
    run = steps_of_run(rank)
    if run is None:
        reason = "a sum of ranks: give one rank" if "reduced" in rank["meta"] else _ALL_RECORDED
        return RecordingCost(None, None, None, "not decided", reason, rank["steps"], rank["steps"])
    steps, recorded, samples = run["steps"], run["recorded"], run["samples"]
    if samples < _FEWEST or not run["time"] or not {"step", "cost", "cost_error"} <= run.keys():
        reason = f"{samples} of {recorded} recorded steps could be compared with others, at least {_FEWEST} are needed"
        return RecordingCost(None, None, None, "not decided", reason, recorded, steps)
    cost = max(run["cost"], 0)
    return RecordingCost(
        share=recorded * cost / run["time"],
        error=recorded * run["cost_error"] / run["time"],
        of_recorded_step=cost / run["step"],
        method="measured",
        reason="",
        steps_recorded=recorded,
        steps=steps,
    )
