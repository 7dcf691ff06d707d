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


def is_recomputed(steps: Steps, path: int) -> bool:
    """Return whether a path is forward that runs again during backward."""
    return steps.phase(path) == BACKWARD and (steps.key(path) == RECOMPUTE or steps.paths["module"][path] >= 0)


def find(steps: Steps) -> Iterator[Finding]:
    paths = list(steps.outermost(lambda path: steps.activity(path) >= 0.5 and is_recomputed(steps, path)))
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
