"""``slow-rank``: one rank works longer than the others, which wait for it."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from fastdispatch.detectors import limits
from fastdispatch.detectors.measured_steps import MeasuredSteps
from fastdispatch.detectors.model import Finding, NotDecided
from fastdispatch.detectors.pipeline_stages import same_stage
from fastdispatch.detectors.rank_figures import RankFigures, extra_path, rank_figures, waiting
from fastdispatch.measures.collective_waits import waits as collective_waits
from fastdispatch.read.gpu_health import gpu_health
from fastdispatch.text.formats import grouped, percent, seconds

ID = "slow-rank"

ADVICE = (
    "look at what is different on this rank: extra work, its host, other programs on its cores, its part of the data"
)


def find(steps: MeasuredSteps) -> Iterator[Finding | NotDecided]:
    if len(steps.ranks) < 2:
        yield NotDecided(ID, "one rank")
        return
    figures = rank_figures(steps)
    waits = waiting(steps)
    groups = [group for group in same_stage(steps, figures) if len(group) > 1]
    if not groups:
        yield NotDecided(ID, "each rank is another stage of a pipeline")
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
            yield NotDecided(ID, f"rank {one.rank} works longer in some steps only")
            continue
        queued = steps.queued[one.rank] - median(steps.queued[other.rank] for other in others)
        if extra - queued < max(limits.SLOW_SHARE * usual, limits.SLOW_MS * 1e6):
            yield NotDecided(ID, f"rank {one.rank} had no core for {seconds(queued)} of a step more than the others")
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
            ID,
            f"rank {one.rank} works {seconds(one.work)} per step, other ranks {seconds(usual)}",
            where,
            gain,
            f"{seconds(extra)} more than the median of the others, without communication: {what}"
            + ("" if spread else f" (+{seconds(most)}{share})")
            + waited
            + slow_clock(steps, one.rank, [other.rank for other in others]),
            ADVICE,
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
