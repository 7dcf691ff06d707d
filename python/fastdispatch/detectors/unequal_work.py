"""``unequal-work``: ranks have different amounts of work in a step."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from fastdispatch.detectors import limits
from fastdispatch.detectors.measured_steps import BACKWARD, FORWARD, OPTIMIZER, MeasuredSteps, number
from fastdispatch.detectors.model import Finding, NotDecided
from fastdispatch.detectors.pipeline_stages import same_stage
from fastdispatch.detectors.rank_figures import RankFigures, rank_figures, waiting
from fastdispatch.text.formats import seconds

ID = "unequal-work"

ADVICE = "give all ranks the same amount: equal batches (drop_last, DistributedSampler), sequences sorted into buckets"


def find(steps: MeasuredSteps) -> Iterator[Finding | NotDecided]:
    if len(steps.ranks) < 2:
        yield NotDecided(ID, "one rank")
        return
    groups = [group for group in same_stage(steps, rank_figures(steps)) if len(group) > 1]
    if not groups:
        yield NotDecided(ID, "each rank is another stage of a pipeline")
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
        ID,
        f"unequal work: {seconds(most.work)} per step on rank {most.rank}, {seconds(least.work)} on rank {least.rank}",
        steps.where(path),
        gain,
        what,
        ADVICE,
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
