"""``pipeline-bubble``: the stages of a pipeline are idle although they are equal."""

from __future__ import annotations

from collections.abc import Iterator

from fastdispatch.detectors import limits
from fastdispatch.detectors.measured_steps import MeasuredSteps
from fastdispatch.detectors.model import Finding, NotDecided
from fastdispatch.detectors.pipeline_stages import analysis
from fastdispatch.text.formats import percent, seconds

ID = "pipeline-bubble"

_CAUSES = {"warm_up": "warm-up", "cool_down": "cool-down", "steady": "waits in between", "transfer": "transfers"}


def find(steps: MeasuredSteps) -> Iterator[Finding | NotDecided]:
    made = analysis(steps)
    if isinstance(made, str):
        yield NotDecided(ID, made)
        return
    if made.engine is None or len(made.table) < 2 or not made.step:
        yield NotDecided(ID, "no pipeline of an engine was recorded")
        return
    busy = [row["busy"] for row in made.table]
    unequal = max(busy) - sum(busy) / len(busy)
    gain = made.bubble_of_total * made.step - unequal
    least = max(limits.BUBBLE * made.step, 2 * unequal)  # most of the rest follows from unequal stages, too
    if gain < least:
        return
    if steps.overloaded and gain - max(steps.queued.values()) < least:
        yield NotDecided(ID, f"main threads had no core for up to {seconds(max(steps.queued.values()))} of a step")
        return
    shares = {cause: sum(row[cause] / row["time"] for row in made.table) / len(made.table) for cause in _CAUSES}
    parts = ", ".join(f"{words} {percent(shares[cause])}" for cause, words in _CAUSES.items() if shares[cause] >= 0.001)
    count = made.schedule["micro_batches"]
    yield steps.finding(
        ID,
        f"the stages of the pipeline are idle for {percent(made.bubble_of_total)} of a step",
        steps.where(max(steps.passes, key=steps.total, default=0)),
        gain,
        f"mean of the stages: {parts}; {seconds(gain)} of an iteration of {seconds(made.step)} without unequal stages",
        f"more than {count} micro-batches per step, or transfers that overlap with computation: fastdispatch pipeline "
        f"report {steps.trace.name} estimates both",
        evidence={"idle_share": round(made.bubble_of_total, 4), "micro_batches": count, "ns_per_step": round(gain)},
        share=round(gain / made.step, 4),
    )
