"""``allocator-retry``: the allocator of the GPU frees its cache and tries again."""

from __future__ import annotations

from collections.abc import Iterator

from fastdispatch.detectors import limits
from fastdispatch.detectors.measured_steps import MeasuredSteps, number
from fastdispatch.detectors.model import Finding, NotDecided, Where
from fastdispatch.read.summary import mapping

ID = "allocator-retry"

ADVICE = (
    "leave memory free: smaller micro-batches, checkpointing, or"
    " PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True against fragmentation"
)


def find(steps: MeasuredSteps) -> Iterator[Finding | NotDecided]:
    retries = {rank["rank"]: _retries(rank["meta"]) for rank in steps.ranks}
    known = {rank: count for rank, count in retries.items() if count is not None}
    if not known:
        used = any(rank["meta"].get("gpu_allocator") for rank in steps.ranks)
        reason = "the recording did not end" if used else "PyTorch's allocator of GPU memory was not used"
        yield NotDecided(ID, reason)
        return
    worst = max(known, key=lambda rank: known[rank])
    count, ended = known[worst], max(steps.whole.longest, 1)
    if count < max(limits.RETRIES, limits.RETRIES_PER_STEP * ended):
        return
    yield steps.finding(
        ID,
        f"the allocator of the GPU freed its cache {count} times to allocate again",
        Where("torch.cuda"),
        0.0,
        f"{count} retries in {ended} steps of rank {worst}, {number(count / ended)} per step; each waits for the GPU"
        " and allocates anew",
        ADVICE,
        severity="critical" if count >= ended else "warning",
        ranks=sorted(rank for rank, each in known.items() if each),
        evidence={"retries": known},
    )


def _retries(meta: dict[str, object]) -> int | None:
    """Return the retries of a rank on all devices; None if it did not use CUDA, or an allocator without statistics, and
    for a recording without an end."""
    devices = mapping(meta.get("gpu_allocator")).get("devices")
    if not isinstance(devices, list):
        return None
    counts = [count for device in devices if isinstance(count := mapping(device).get("retries"), int)]
    return sum(counts) if counts else None
