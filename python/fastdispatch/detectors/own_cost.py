"""``own-cost``: recording takes a noticeable part of the run."""

from __future__ import annotations

from collections.abc import Iterator

from fastdispatch.detectors import limits
from fastdispatch.detectors.measured_steps import MeasuredSteps
from fastdispatch.detectors.model import Finding, NotDecided, Where
from fastdispatch.read.recording_cost import recording_cost
from fastdispatch.text.formats import percent

ID = "own-cost"

ADVICE = "record fewer steps (--budget), fewer calls (--keep) or no operators (--ops off)"


def find(steps: MeasuredSteps) -> Iterator[Finding | NotDecided]:
    cost = recording_cost(steps.ranks)
    if cost.share is None and cost.steps_recorded < cost.steps:
        yield NotDecided(ID, cost.reason)
    elif cost.share is not None and cost.steps < limits.OWN_STEPS:
        yield NotDecided(ID, f"fewer than {limits.OWN_STEPS} steps: the first ones are always recorded")
    elif (cost.share or 0) >= limits.OWN_SHARE > (cost.share or 0) - (cost.error or 0):
        yield NotDecided(ID, cost.text)
    elif (cost.share or 0) >= limits.OWN_SHARE:
        yield steps.finding(
            ID,
            f"recording takes {percent(cost.share or 0)} of the run",
            Where("fastdispatch"),
            0,  # the program itself does not get faster
            cost.text,
            ADVICE,
            severity="info",
            share=round(cost.share or 0, 4),
            extent=f"{percent(cost.share or 0)} of the run",
            evidence={"of_recorded_step": round(cost.of_recorded_step or 0, 4), "steps": cost.steps},
        )
