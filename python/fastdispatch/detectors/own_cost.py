"""``own-cost``: recording itself takes a noticeable part of the step."""

from __future__ import annotations

from collections.abc import Iterator

from fastdispatch.detectors import limits
from fastdispatch.detectors.measured_steps import MeasuredSteps, number, percent
from fastdispatch.detectors.model import Finding, NotDecided, Where
from fastdispatch.read.summary import HOOKED, mapping
from fastdispatch.text.formats import seconds

ID = "own-cost"

ADVICE = "record fewer calls (--keep), no operators (--ops off) or fewer steps (--steps); counts stay exact"


def find(steps: MeasuredSteps) -> Iterator[Finding | NotDecided]:
    costs = mapping(steps.ranks[0]["meta"].get("cost_ns"))
    if not costs:
        yield NotDecided(ID, "the cost of a call was not measured")
        return
    calls = {name: 0.0 for name in costs}
    for row, main in enumerate(steps.main):
        name = HOOKED.get(steps.kind(row), "")
        if main and name in calls and steps.activity(row) >= 0.5:
            calls[name] += steps.calls(row)
    cost = sum(count * costs[name] for name, count in calls.items())
    if cost < limits.OWN_SHARE * steps.step or cost < limits.OWN_MS * 1e6:
        return
    yield steps.finding(
        ID,
        f"recording takes {percent(cost / steps.step)} of a step",
        Where("fastdispatch"),
        0,  # the program itself does not get faster
        f"{number(sum(calls.values()))} recorded calls per step cost {seconds(cost)} of a mean step of"
        f" {seconds(steps.step)}",
        ADVICE,
        severity="info",
        share=round(cost / steps.step, 4),
        evidence={name: round(count, 1) for name, count in calls.items()} | {"ns_per_step": round(cost)},
    )
