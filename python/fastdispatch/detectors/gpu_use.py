"""GPUs that wait: for launches, or for memory."""

from collections import defaultdict
from collections.abc import Iterator

from fastdispatch.detectors import limits
from fastdispatch.detectors.measured_steps import MeasuredSteps, number
from fastdispatch.detectors.model import Finding, Where
from fastdispatch.read.summary import mapping
from fastdispatch.text.formats import percent, seconds


def launch_bound(steps: MeasuredSteps) -> Iterator[Finding | str]:
    """``launch-bound``: the GPU waits for the CPU to launch work."""
    gpu = steps.gpu
    if gpu is None:
        yield "idle time of the GPU was not recorded"
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
        f"the GPU is idle for {percent(share)} of a step, because launches are late",
        where,
        min(share * steps.step, idle),
        f"{seconds(idle)} per step without work, {seconds(users[blamed])} of it while {where.key} runs",
        "launch fewer, larger kernels: torch.compile, CUDA graphs, fused optimizers, larger micro-batches",
        evidence={"starved_share": round(share, 4)},
    )


def allocator_retry(steps: MeasuredSteps) -> Iterator[Finding | str]:
    """``allocator-retry``: the allocator of the GPU frees its cache and tries again."""
    retries = {rank["rank"]: _retries(rank["meta"]) for rank in steps.ranks}
    known = {rank: count for rank, count in retries.items() if count is not None}
    if not known:
        used = any(rank["meta"].get("gpu_allocator") for rank in steps.ranks)
        reason = "the recording did not end" if used else "PyTorch's allocator of GPU memory was not used"
        yield reason
        return
    worst = max(known, key=lambda rank: known[rank])
    count, ended = known[worst], max(steps.whole.longest, 1)
    if count < max(limits.RETRIES, limits.RETRIES_PER_STEP * ended):
        return
    yield steps.finding(
        f"the allocator of the GPU freed its cache {count} times to allocate again",
        Where("torch.cuda"),
        0.0,
        f"{count} retries in {ended} steps of rank {worst}, {number(count / ended)} per step; each waits for the GPU"
        " and allocates anew",
        "leave memory free: smaller micro-batches, checkpointing, or"
        " PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True against fragmentation",
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
