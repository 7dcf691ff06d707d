"""``stage-imbalance``: a stage of a pipeline works longer than the others."""

from __future__ import annotations

from collections.abc import Iterator

from fastdispatch._core import Error
from fastdispatch.detectors import limits
from fastdispatch.detectors.measured_steps import MeasuredSteps
from fastdispatch.detectors.model import Finding, NotDecided
from fastdispatch.text.formats import seconds

ID = "stage-imbalance"

ADVICE = "move layers to other stages: fastdispatch pipeline partition prints a better split"


def find(steps: MeasuredSteps) -> Iterator[Finding | NotDecided]:
    from fastdispatch.pipeline.report import report

    try:
        made = report(steps.trace)
    except Error:
        yield NotDecided(ID, "no jobs of a pipeline were recorded")
        return
    if len(made.table) < 2 or not made.step:
        yield NotDecided(ID, "one stage")
        return
    slowest = max(made.table, key=lambda row: row["busy"])
    mean = sum(row["busy"] for row in made.table) / len(made.table)
    gain = slowest["busy"] - mean
    if gain < limits.STAGE_GAIN * made.step or slowest["busy"] < limits.UNEQUAL_CALLS * mean:
        return
    rows = [row for row in range(len(steps.paths["node"])) if steps.kind(row) == "job" and steps.key(row) == "forward"]
    steps.claimed.update(row for row, main in enumerate(steps.main) if main)
    times = {str(row["stage"]): round(row["busy"]) for row in made.table}
    yield steps.finding(
        ID,
        f"stage {slowest['stage']} computes {seconds(slowest['busy'])} per step, the mean stage {seconds(mean)}",
        steps.where(rows[0] if rows else 0),
        gain,
        f"the other stages wait for it; equal stages save {seconds(gain)} of an iteration of {seconds(made.step)}",
        ADVICE,
        ranks=list(slowest["ranks"]),
        evidence={"busy_ns": times, "ns_per_step": round(gain)},
    )
