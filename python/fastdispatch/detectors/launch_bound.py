"""``launch-bound``: the GPU waits for the CPU to launch work."""

from __future__ import annotations

from collections.abc import Iterator

from fastdispatch.detectors import limits
from fastdispatch.detectors.measured_steps import MeasuredSteps, percent
from fastdispatch.detectors.model import Finding, NotDecided
from fastdispatch.text.formats import seconds

ID = "launch-bound"

ADVICE = "launch fewer, larger kernels: torch.compile, CUDA graphs, fused optimizers, larger micro-batches"


def find(steps: MeasuredSteps) -> Iterator[Finding | NotDecided]:
    starved, busy = steps.paths["gpu_starved"], steps.paths["gpu_total"]
    roots = [row for row, parent in enumerate(steps.paths["parent"]) if parent < 0]
    whole = sum(busy[row] for row in roots) + sum(starved[row] for row in roots)
    if not whole:
        yield NotDecided(ID, "no GPU time was recorded")
        return
    share = sum(starved[row] for row in roots) / whole
    if share < limits.STARVED_SHARE:
        return
    users = [row for row in range(len(starved)) if steps.is_user(row)]
    own = {
        row: starved[row] - sum(starved[below] for below in steps.outermost(steps.is_user, row + 1, steps.end[row]))
        for row in users
    }
    heaviest = max(own or {roots[0]: 0}, key=lambda row: own.get(row, 0))
    left = max(share * steps.step - sum(map(steps.own, steps.claimed)), 0.0)
    if left < limits.STARVED_SHARE * steps.step:
        return
    yield steps.finding(
        ID,
        f"the GPU is without work for {percent(share)} of the sampled time, because launches are late",
        steps.where(heaviest),
        left,
        f"{seconds(sum(starved[row] for row in roots))} without work in the sampled steps, most of it launched by"
        f" {steps.key(heaviest)}",
        ADVICE,
        evidence={"starved_share": round(share, 4)},
    )
