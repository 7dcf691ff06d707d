"""Ranks that work longer than the others, with different amounts of work or without."""

from collections.abc import Iterator
from statistics import median

from fastdispatch.detectors import limits
from fastdispatch.detectors.measured_steps import BACKWARD, FORWARD, OPTIMIZER, MeasuredSteps, number
from fastdispatch.detectors.model import Finding
from fastdispatch.detectors.pipeline_stages import same_stage
from fastdispatch.detectors.rank_figures import RankFigures, extra_path, rank_figures, waiting
from fastdispatch.measures.collective_waits import waits as collective_waits
from fastdispatch.read.gpu_health import gpu_health
from fastdispatch.text.formats import grouped, percent, seconds

ADVICE_UNEQUAL = (
    "give all ranks the same amount: equal batches (drop_last, DistributedSampler), sequences sorted into buckets"
)


def unequal_work(steps: MeasuredSteps) -> Iterator[Finding | str]:
    """``unequal-work``: ranks have different amounts of work in a step."""
    if len(steps.ranks) < 2:
        yield "one rank"
        return
    groups = [group for group in same_stage(steps, rank_figures(steps)) if len(group) > 1]
    if not groups:
        yield "each rank is another stage of a pipeline"
        return
    figures = max(groups, key=lambda group: max(rank.work for rank in group) - min(rank.work for rank in group))
    most = max(figures, key=lambda rank: rank.work)
    least = min(figures, key=lambda rank: rank.work)
    gain = most.work - median(rank.work for rank in figures if rank is not most)
    if gain < limits.SLOW_SHARE * least.work or gain < limits.SLOW_MS * 1e6:
        return
    found = _counts(steps, figures) or _sizes(steps, most, least)
    if found is None:
        return
    if "calls_per_step" not in found[2] and not _on_cpu(steps, most, least):
        return  # another program had the core of a rank
    path, what, evidence = found
    rows = [row for row, main in enumerate(steps.main) if main]
    steps.claimed.update(rows)  # of the differences between ranks, which slow-rank would report again
    yield steps.finding(
        f"unequal work: {seconds(most.work)} per step on rank {most.rank}, {seconds(least.work)} on rank {least.rank}",
        steps.where(path),
        gain,
        what,
        ADVICE_UNEQUAL,
        ranks=[most.rank],
        evidence=evidence | {"work_ns": {str(rank.rank): round(rank.work) for rank in figures}},
    )


def _on_cpu(steps: MeasuredSteps, most: RankFigures, least: RankFigures) -> bool:
    """Whether the CPU times of two ranks differ, too, or are unknown."""
    if steps.uses_gpu or not {most.rank, least.rank} <= steps.cpu.keys():
        return True
    return steps.cpu[most.rank] >= (1 + limits.SLOW_SHARE) * steps.cpu[least.rank]


def _counts(steps: MeasuredSteps, figures: list[RankFigures]) -> tuple[int, str, dict[str, object]] | None:
    """Return the heaviest function of the program that one rank calls more often per step than another."""
    best: tuple[float, int, list[float]] | None = None
    for row, main in enumerate(steps.main):
        if not main or not (
            steps.is_user(row) or (steps.kind(row) == "op" and steps.is_user(steps.paths["parent"][row]))
        ):
            continue
        calls = [rank.calls(row) for rank in figures]
        if max(calls) < 1.5 or max(calls) <= limits.UNEQUAL_CALLS * min(calls) or min(calls) < 0.5:
            continue
        time = max(rank.paths["total"][row] / rank.steps for rank in figures)
        if best is None or time > best[0]:
            best = time, row, calls
    if best is None:
        return None
    _, row, calls = best
    by_rank = {str(rank.rank): round(count, 2) for rank, count in zip(figures, calls, strict=True)}
    counts = ", ".join(f"{number(count)} on rank {rank}" for rank, count in by_rank.items())
    return row, f"calls of {steps.key(row)} per step: {counts}", {"calls_per_step": by_rank}


def _sizes(steps: MeasuredSteps, most: RankFigures, least: RankFigures) -> tuple[int, str, dict[str, object]] | None:
    """Return the path with larger inputs: equal calls, longer operators of forward and backward, but an optimizer as
    fast as on the other rank. A slower machine has a slower optimizer, too."""
    waits = waiting(steps)

    def time(rank: RankFigures, *phases: int) -> float:
        return sum(
            rank.own(row)
            for row, main in enumerate(steps.main)
            if main and steps.phase(row) in phases and steps.kind(row) == "op" and not waits[row]
        )

    model = time(most, FORWARD, BACKWARD) / max(time(least, FORWARD, BACKWARD), 1)
    update = time(most, OPTIMIZER) / max(time(least, OPTIMIZER), 1)
    grown = time(most, FORWARD, BACKWARD) - time(least, FORWARD, BACKWARD)
    if model < limits.UNEQUAL_TIME or update - 1 > (model - 1) / 3 or grown < 0.5 * (most.work - least.work):
        return None
    forward = [
        row
        for row, main in enumerate(steps.main)
        if main and steps.phase(row) == FORWARD and steps.is_python(row) and steps.user(row) >= 0
    ]
    forward = [row for row in forward if steps.is_user(row)] or forward
    path = max(forward or [0], key=lambda row: most.paths["total"][row])
    what = (
        f"the same calls, but operators of forward and backward last {model:.2g} times as long on rank {most.rank},"
        f" those of the optimizer {update:.2g} times: its inputs are larger"
    )
    return path, what, {"ratio_of_model": round(model, 3), "ratio_of_optimizer": round(update, 3)}


ADVICE_SLOW = (
    "look at what is different on this rank: extra work, its host, other programs on its cores, its part of the data"
)


def slow_rank(steps: MeasuredSteps) -> Iterator[Finding | str]:
    """``slow-rank``: one rank works longer than the others, which wait for it."""
    if len(steps.ranks) < 2:
        yield "one rank"
        return
    figures = rank_figures(steps)
    waits = waiting(steps)
    groups = [group for group in same_stage(steps, figures) if len(group) > 1]
    if not groups:
        yield "each rank is another stage of a pipeline"
    for one, group in [(one, each) for each in groups for one in each]:
        others = [other for other in group if other is not one]
        usual = median(other.work for other in others)
        extra = one.work - usual
        if extra < limits.SLOW_SHARE * usual or extra < limits.SLOW_MS * 1e6 or one.work < max(o.work for o in others):
            continue
        working = [row for row, main in enumerate(steps.main) if main and not waits[row]]
        shortest = one.least(working) - median(other.least(working) for other in others)
        steady = _steady_extra(one, others, working)
        needs_more = steady >= limits.SLOW_SHORTEST * extra and _needs_more_cpu(steps, one, others)
        if shortest < limits.SLOW_SHORTEST * extra and not needs_more:
            yield f"rank {one.rank} works longer in some steps only"
            continue
        queued = steps.queued[one.rank] - median(steps.queued[other.rank] for other in others)
        if extra - queued < max(limits.SLOW_SHARE * usual, limits.SLOW_MS * 1e6):
            yield f"rank {one.rank} had no core for {seconds(queued)} of a step more than the others"
            continue
        path, most = extra_path(steps, one, others)
        waited, evidence = _waited(steps, one.rank)
        gain = min(extra, one.work - max(other.work for other in others))
        spread = most < limits.SLOW_PATH * extra
        if not spread:
            steps.claim([path])
        where = steps.where(path)
        share = f", {percent(most / extra)}" if most <= extra else ""  # more: other functions are quicker
        what = "all of its work" if spread else f"mostly in {steps.key(path)}"
        yield steps.finding(
            f"rank {one.rank} works {seconds(one.work)} per step, other ranks {seconds(usual)}",
            where,
            gain,
            f"{seconds(extra)} more than the median of the others, without communication: {what}"
            + ("" if spread else f" (+{seconds(most)}{share})")
            + waited
            + slow_clock(steps, one.rank, [other.rank for other in others]),
            ADVICE_SLOW,
            ranks=[one.rank],
            evidence={
                "work_ns": {str(rank.rank): round(rank.work) for rank in figures},
                "wait_ns": {str(rank.rank): round(rank.wait) for rank in figures},
                "path_ns": round(most),
                **evidence,
                **({"gpu_clock_mhz": clocks} if (clocks := clocks_of_ranks(steps)) else {}),
            },
        )


def _steady_extra(one: RankFigures, others: list[RankFigures], paths: list[int]) -> float:
    """Return the extra time of the paths that ran in every step of a rank: a checkpoint of some steps is not in it."""
    every = [path for path in paths if path in one.shortest]
    return sum(map(one.own, every)) - median(sum(map(other.own, every)) for other in others)


def _needs_more_cpu(steps: MeasuredSteps, one: RankFigures, others: list[RankFigures]) -> bool:
    """Return whether a rank needs that much more CPU time, which a busy machine hardly changes. On a GPU, threads that
    wait also need it."""
    if steps.uses_gpu or not {each.rank for each in (one, *others)} <= steps.cpu.keys():
        return False
    usual = median(steps.cpu[other.rank] for other in others)
    return steps.cpu[one.rank] - usual >= max(limits.SLOW_SHARE * usual, limits.SLOW_MS * 1e6)


def _waited(steps: MeasuredSteps, rank: int) -> tuple[str, dict[str, int]]:
    """Return how long others waited for a rank in collectives, as text and as evidence; nothing if it is not known."""
    rows = [row for row in collective_waits(steps.trace) if row.collectives]
    time, last = sum(row.caused_ns[rank] for row in rows), sum(row.last[rank] for row in rows)
    every = sum(row.collectives for row in rows)
    if not time:
        return "", {}
    began = f"it began {grouped(last)} of {grouped(every)} collectives last, " if last else ""
    least = "" if last else "at least "
    text = f"; {began}the others waited {least}{seconds(time)} for it"
    return text, {"waited_ns": time, "last": last, "collectives": every}


def clocks_of_ranks(steps: MeasuredSteps) -> dict[str, int]:
    """Return the clock of the slowest GPU of each rank, MHz."""
    found = {rank["rank"]: [each for each in gpu_health(rank) if each.looks] for rank in steps.ranks}
    return {str(rank): min(each.clock for each in health) for rank, health in found.items() if health}


def slow_clock(steps: MeasuredSteps, rank: int, others: list[int]) -> str:
    """Return a sentence if the GPU of a rank has a lower clock than those of the others."""
    clocks = clocks_of_ranks(steps)
    usual = median([clocks[str(other)] for other in others if str(other) in clocks] or [0])
    health = [each for entry in steps.ranks if entry["rank"] == rank for each in gpu_health(entry) if each.looks]
    low = min(health, key=lambda each: each.clock, default=None)
    if low is None or low.clock > limits.SLOW_CLOCK * usual:
        return ""
    return f"; its GPU: {low.text}, other ranks {grouped(round(usual))} MHz"
