"""Communication: ranks with different amounts of it, and steps that wait for it."""

from collections.abc import Iterator
from statistics import mean

from fastdispatch.detectors import limits
from fastdispatch.detectors.gpu_clock import GpuClock
from fastdispatch.detectors.measured_steps import BACKWARD, MeasuredSteps, number, steps_of
from fastdispatch.detectors.model import Finding
from fastdispatch.detectors.rank_figures import rank_figures, waiting
from fastdispatch.measures.flops import measured_steps
from fastdispatch.measures.measured import communicated
from fastdispatch.read.collectives import SYNCHRONIZING
from fastdispatch.text.formats import percent, printable, seconds, size

ADVICE_SKEWED = (
    "give all ranks the same part: a loss that balances the experts, a capacity per expert, chunks of equal length"
)

#: Bytes per step of each rank, by call path and group.
_Moved = dict[tuple[int, str], dict[int, float]]


def skewed_comm(steps: MeasuredSteps) -> Iterator[Finding | str]:
    """``skewed-comm``: ranks of one group exchange different amounts of bytes in the same collective."""
    if len(steps.ranks) < 2:
        yield "one rank"
        return
    moved = _moved(steps)
    if not moved:
        yield "no communication was measured: record with measure='comm'"
        return
    for (path, group), ranks in moved.items():
        most, least = max(ranks.values()), min(ranks.values())
        if most - least >= limits.SKEW_BYTES and most >= limits.SKEW * least:
            yield _finding(steps, path, group, ranks)
            steps.claimed.add(path)


def _moved(steps: MeasuredSteps) -> _Moved:
    """Return the bytes of collectives in which all ranks take part in the same way."""
    found: _Moved = {}
    for rank in steps.ranks:
        measured = measured_steps([rank]) or max(steps_of(rank), 1)
        for (path, detail, _), (_, _, sent, received) in communicated([rank]).items():
            if steps.key(path).removeprefix("c10d::") in SYNCHRONIZING:
                ranks = found.setdefault((path, detail.partition(" ")[2]), {})
                ranks[rank["rank"]] = ranks.get(rank["rank"], 0.0) + max(sent, received) / measured
    return found


def _finding(steps: MeasuredSteps, path: int, group: str, ranks: dict[int, float]) -> Finding:
    most = max(ranks, key=lambda rank: ranks[rank])
    least = min(ranks, key=lambda rank: ranks[rank])
    name = printable(group.rpartition(":")[0])
    time = steps.unclaimed([path])
    return steps.finding(
        f"{steps.key(path)} of group {name} moves {size(round(ranks[most]))} per step on rank {most},"
        f" {size(round(ranks[least]))} on rank {least}",
        steps.where(path, "all_to_all_single", "all_to_all"),
        time * (1 - mean(ranks.values()) / ranks[most]),
        f"the larger of bytes sent and received per step: {size(round(mean(ranks.values())))} is the mean of"
        f" {len(ranks)} ranks; all ranks wait for the largest part",
        ADVICE_SKEWED,
        ranks=[most],
        evidence={"bytes_per_step": {str(rank): round(ranks[rank]) for rank in sorted(ranks)}},
    )


_REPLICA = "torch/nn/parallel/distributed.py:[DistributedDataParallel]:forward"
_NO_SYNC = "torch/nn/parallel/distributed.py:[DistributedDataParallel]:no_sync"

#: Folders of frameworks that call collectives on behalf of the program.
_SHARDED = "torch/distributed/fsdp/"
_FRAMEWORKS = (
    _SHARDED,
    "torch/nn/parallel/",
    "torch/distributed/_composable/",
    "torch/distributed/pipelining/",
    "torch/distributed/tensor/",
    "torch/distributed/optim/",
    "torch/distributed/algorithms/",
)

#: Functions of FSDP that reduce gradients.
_REDUCES = (
    "torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py:[]:foreach_reduce",
    "torch/distributed/fsdp/_runtime_utils.py:[]:_reduce_grad",
)

#: Names of collectives of torch.distributed in a program's source.
_COLLECTIVE_NAMES = """
all_reduce all_gather all_gather_into_tensor all_gather_object broadcast broadcast_object_list reduce_scatter_tensor
barrier monitored_barrier reduce gather
"""
_COLLECTIVES = _COLLECTIVE_NAMES.split()

#: Messages between two ranks, such as micro-batches of a pipeline: they cannot be combined.
_MESSAGES = {"c10d::send", "c10d::recv_", "c10d::recv_any_source_"}

#: Collectives that send no data.
_BARRIERS = {"c10d::barrier", "c10d::monitored_barrier_"}

ADVICE_SHARDED = (
    "use larger micro-batches, keep parameters gathered (reshard_after_forward=False), gather earlier"
    " (set_modules_to_forward_prefetch), or shard several layers together"
)
ADVICE = "overlap it with backward (DistributedDataParallel, async_op=True), reduce less often, or send less (bfloat16)"


def exposed_comm(steps: MeasuredSteps) -> Iterator[Finding | str]:
    """``exposed-comm``: the step waits for communication that could be avoided or overlapped."""
    if max((rank["world"] for rank in steps.ranks), default=1) < 2:
        yield "one rank"
        return
    if steps.gpu is not None:
        yield from _on_gpu(steps, steps.gpu)
        return
    waits = waiting(steps)
    rows = [row for row, wait in enumerate(waits) if wait and steps.main[row] and not steps.paths["async"][row]]
    yield from _accumulation(steps, rows)
    yield from _sharded_accumulation(steps)
    yield from _loops(steps)
    yield from _barriers(steps)
    if len(steps.ranks) < 2:
        yield "the other ranks were not recorded"
        return
    figures = rank_figures(steps)
    rows = [row for row in rows if row not in steps.claimed]
    least = min(figures, key=lambda rank: rank.least(rows))
    left = least.least(rows)
    if left < limits.COMM_SHARE * least.whole or left < limits.COMM_MS * 1e6:
        return
    heaviest = max(rows, key=lambda row: least.shortest.get(row, 0.0))
    framework = _framework(steps, heaviest)
    is_sharded = framework >= 0 and steps.file(framework).startswith(_SHARDED)
    for row in rows:
        steps.claimed.add(row)
    yield steps.finding(
        "the step waits for communication on every rank",
        steps.place(heaviest, framework) if framework >= 0 else steps.where(heaviest, *_COLLECTIVES, "backward"),
        left,
        f"rank {least.rank} waits least: at least {seconds(left)}, {percent(left / least.whole)} of a step",
        ADVICE_SHARDED if is_sharded else ADVICE,
        evidence={"ns_per_step": {str(rank.rank): round(rank.wait) for rank in figures}, "calls_per_step": 0},
    )


def _on_gpu(steps: MeasuredSteps, gpu: GpuClock) -> Iterator[Finding]:
    """Report the time in which GPUs only communicate: no other kernel runs."""
    time = gpu.step * gpu.facts.share(gpu.facts.communication)
    rows = [row for row in range(len(gpu.own)) if steps.kind(row) == "kernel" and "nccl" in steps.key(row)]
    if time < limits.COMM_GPU * gpu.step or not rows:
        return
    share = percent(time / gpu.step)
    yield steps.finding(
        f"the GPU only communicates for {share} of a step",
        steps.where(max(rows, key=gpu.own.__getitem__), *_COLLECTIVES, "backward"),
        time,
        f"{seconds(time)} per step in kernels of NCCL, waiting for other ranks included, while no other kernel runs",
        ADVICE,
        evidence={"ns_per_step": {str(rank): round(time) for rank in steps.numbers}, "calls_per_step": 0},
    )


def _accumulation(steps: MeasuredSteps, rows: list[int]) -> Iterator[Finding]:
    """Report gradients that are reduced for every micro-batch of a step."""
    backward = steps.passes
    passes = sum(map(steps.calls, backward))
    replicas = sum(map(steps.calls, steps.named(_REPLICA)))
    reduced = [row for path in backward for row in steps.below(path) if steps.key(row) == "c10d::allreduce_"]
    if passes < 1.95 or replicas < 1.95 or any(True for _ in steps.named(_NO_SYNC)) or not reduced:
        return
    count = sum(map(steps.calls, reduced))
    if count < 0.95 * passes:
        return
    inside = [row for row in rows if steps.phase(row) == BACKWARD and row not in steps.claimed]
    inside += [row for path in backward for row in steps.below(path) if "reducer::" in steps.key(row)]
    time = sum(steps.own(row) for row in inside) * (1 - 1 / passes)
    steps.claimed.update(inside)
    yield steps.finding(
        f"gradients are reduced for each of {number(passes)} micro-batches, without no_sync()",
        steps.where(backward[0], "backward"),
        time,
        f"{number(passes)} backward passes and {number(count)} all-reduces of gradients per step",
        "run all micro-batches except the last below model.no_sync(): gradients are then reduced once per step",
        evidence={"calls_per_step": round(count, 2), "backward_per_step": round(passes, 2), "ns_per_step": round(time)},
        severity="warning",
    )


def _sharded_accumulation(steps: MeasuredSteps) -> Iterator[Finding]:
    """Report sharded gradients that are reduced for every micro-batch of a step."""
    passes = sum(map(steps.calls, steps.passes))
    reduces = [row for row in steps.named(*_REDUCES) if steps.calls(row) >= max(1.95, 0.95 * passes)]
    if passes < 1.95 or not reduces:
        return
    time = min(sum(rank.total(steps, row) for row in reduces) for rank in rank_figures(steps)) * (1 - 1 / passes)
    count = sum(map(steps.calls, reduces))
    steps.claim(reduces)
    yield steps.finding(
        f"FSDP reduces gradients for each of {number(passes)} micro-batches",
        steps.where(steps.passes[0], "backward"),
        time,
        f"{number(passes)} backward passes and {number(count)} reductions of gradients per step",
        "call model.set_requires_gradient_sync(False) for all micro-batches except the last (FSDP1: model.no_sync()):"
        " gradients are then reduced once per step, and stay unsharded until then",
        evidence={"calls_per_step": round(count, 2), "backward_per_step": round(passes, 2), "ns_per_step": round(time)},
        severity="warning",
    )


def _framework(steps: MeasuredSteps, path: int) -> int:
    """Return the function of a framework that calls a collective on behalf of the program; -1: the program does."""
    for row in steps.above(path):
        if steps.is_user(row) and not steps.is_part(row):
            return -1
        if steps.is_library(row) or (steps.is_python(row) and steps.file(row).startswith(_FRAMEWORKS)):
            return row
    return -1


def _loops(steps: MeasuredSteps) -> Iterator[Finding]:
    """Report functions of the program that call many collectives in a step."""
    collectives = {key for key in steps.keys if key.startswith("c10d::") and key not in _MESSAGES}
    rows = (
        row
        for row, node in enumerate(steps.paths["node"])
        if steps.keys[node] in collectives
        and steps.main[row]
        and steps.phase(row) != BACKWARD
        and row not in steps.claimed
        and _framework(steps, row) < 0
    )
    for user, paths in steps.grouped(steps.user, list(rows)).items():
        calls = sum(map(steps.calls, paths))
        if calls < limits.COLLECTIVES:
            continue
        heaviest = max(paths, key=steps.total)
        tops = {_outer(steps, path, user) for path in paths}
        time = steps.unclaimed(tops)
        steps.claim(tops)
        yield steps.finding(
            f"{steps.name(user)} calls {number(calls)} collectives per step",
            steps.where(heaviest, *_COLLECTIVES),
            time * (1 - 1 / calls),
            f"{steps.key(heaviest)}: {number(calls)} calls, {steps.of_step(time)}",
            "reduce one flat tensor instead of many (torch._utils._flatten_dense_tensors, DistributedDataParallel)",
            evidence={"calls_per_step": round(calls, 2), "ns_per_step": round(time)},
        )


def _barriers(steps: MeasuredSteps) -> Iterator[Finding]:
    """Report barriers in functions of the program in every step."""
    for row, node in enumerate(steps.paths["node"]):
        if steps.keys[node] not in _BARRIERS or not steps.main[row] or row in steps.claimed:
            continue
        calls, user = steps.calls(row), steps.user(row)
        if calls < limits.EVERY or user < 0 or _framework(steps, row) >= 0:
            continue
        top = _outer(steps, row, user)
        time = steps.unclaimed({top})
        steps.claim({top})
        yield steps.finding(
            f"{steps.name(user)} waits at a barrier in every step",
            steps.where(row, *_COLLECTIVES),
            time,
            f"{steps.key(row)}: {number(calls)} calls per step, {seconds(time)} or {percent(time / steps.step)} of it",
            "remove it if no rank needs what the others have done: collectives wait for all ranks anyway; the time of a"
            " slower rank moves to the next collective",
            evidence={"calls_per_step": round(calls, 2), "ns_per_step": round(time)},
        )


def _outer(steps: MeasuredSteps, path: int, user: int) -> int:
    """Return the outermost path below ``user`` that leads to a path."""
    outer = path
    for above in steps.above(path):
        if above == user:
            break
        outer = above
    return outer
