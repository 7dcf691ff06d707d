"""``launch-bound``: the GPU waits for the CPU to launch work."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from fastdispatch.detectors import limits
from fastdispatch.detectors.measured_steps import MeasuredSteps
from fastdispatch.detectors.model import Finding, NotDecided
from fastdispatch.text.formats import percent, seconds

ID = "launch-bound"

ADVICE = "launch fewer, larger kernels: torch.compile, CUDA graphs, fused optimizers, larger micro-batches"


def find(steps: MeasuredSteps) -> Iterator[Finding | NotDecided]:
    gpu = steps.gpu
    if gpu is None:
        yield NotDecided(ID, "idle time of the GPU was not recorded")
        return
    left = [0.0 if row in steps.claimed else time for row, time in enumerate(gpu.idle)]
    idle = sum(left)
    if idle < limits.STARVED_SHARE * gpu.step:
        return
    users: dict[int, float] = defaultdict(float)
    for row, time in enumerate(left):
        if time:
            users[steps.user(row)] += time
    blamed = max(users, key=lambda row: users[row] if row >= 0 else -1.0)
    where = steps.where(blamed if blamed >= 0 else max(range(len(left)), key=left.__getitem__))
    share = idle / gpu.step
    yield steps.finding(
        ID,
        f"the GPU is idle for {percent(share)} of a step, because launches are late",
        where,
        min(share * steps.step, idle),
        f"{seconds(idle)} per step without work, {seconds(users[blamed])} of it while {where.key} runs",
        ADVICE,
        evidence={"starved_share": round(share, 4)},
    )
