"""``single-precision``: the GPU multiplies matrices in float32, without tensor cores."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from fastdispatch.detectors import limits
from fastdispatch.detectors.measured_steps import MeasuredSteps
from fastdispatch.detectors.model import Finding, NotDecided
from fastdispatch.text.formats import percent, seconds
from fastdispatch.text.kernel_names import precision_of_kernel, short_kernel_name

ID = "single-precision"

ADVICE = (
    'use torch.autocast("cuda", torch.bfloat16), or torch.set_float32_matmul_precision("high") for TF32;'
    " the GPU must have tensor cores"
)


def find(steps: MeasuredSteps) -> Iterator[Finding | NotDecided]:
    gpu = steps.gpu
    if gpu is None:
        if steps.uses_gpu:
            yield NotDecided(ID, "kernels of the GPU were not recorded")
        return
    times = {row: time for row, time in enumerate(gpu.own) if steps.kind(row) == "kernel" and time}
    products = {row: time for row, time in times.items() if precision_of_kernel(steps.name(row)) == "fp32"}
    time = sum(products.values())
    if time < limits.SINGLE_SHARE * gpu.step:
        return
    users: dict[int, float] = defaultdict(float)
    for row, each in products.items():
        users[steps.user(row)] += each
    longest = max(products, key=products.__getitem__)
    user = max(users, key=users.__getitem__)
    share = time / gpu.step
    yield steps.finding(
        ID,
        f"the GPU multiplies matrices in float32 without tensor cores for {percent(share)} of a step",
        steps.where(user if user >= 0 else longest),
        share * steps.step / 2,
        f"{seconds(time)} of kernels per step, the longest {short_kernel_name(steps.name(longest))}; tensor cores have"
        " at least twice the rate",
        ADVICE,
        evidence={"float32_share": round(share, 4)},
    )
