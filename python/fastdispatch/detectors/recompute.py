"""``recompute``: checkpointing runs forward again during backward."""

from __future__ import annotations

from collections.abc import Iterator

from fastdispatch.detectors import limits
from fastdispatch.detectors.measured_steps import BACKWARD, Steps, counted, percent
from fastdispatch.detectors.model import Finding
from fastdispatch.read.call_sites import CHECKPOINTS, RECOMPUTE
from fastdispatch.read.summary import seconds

ID = "recompute"

ADVICE = "checkpoint only the layers whose activations do not fit into memory, or use a smaller micro-batch instead"


def find(steps: Steps) -> Iterator[Finding]:
    modules = steps.paths["module"]

    def again(path: int) -> bool:
        if steps.phase(path) != BACKWARD or steps.activity(path) < 0.5:
            return False
        return steps.key(path) == RECOMPUTE or modules[path] >= 0

    paths = list(steps.outermost(again))
    time = steps.unclaimed(paths)
    if not paths or time < limits.RECOMPUTE_SHARE * steps.step:
        return
    callers = [path for path in steps.named(*CHECKPOINTS) if steps.phase(path) != BACKWARD]
    heaviest = max(callers or paths, key=steps.total)
    calls = sum(map(steps.calls, callers or paths))
    steps.claim(paths)
    yield steps.finding(
        ID,
        f"forward runs again during backward: {counted(calls, 'checkpoint')} per step",
        steps.where(heaviest, "checkpoint", "checkpoint_sequential"),
        time,
        f"{seconds(time)} or {percent(time / steps.step)} of a step is recomputation, the price of less memory",
        ADVICE,
        evidence={"checkpoints_per_step": round(calls, 2), "ns_per_step": round(time)},
    )
