"""Findings of a sum of ranks from measured figures: ranks with other FLOPs or other communicated bytes."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from fastdispatch.detectors import limits
from fastdispatch.detectors.communication import ADVICE_SKEWED
from fastdispatch.detectors.measured_steps import MeasuredSteps
from fastdispatch.detectors.model import Finding, NotDecided
from fastdispatch.detectors.rank_work import ADVICE_UNEQUAL
from fastdispatch.measures.call_sites import CallSites
from fastdispatch.measures.flop_formulas import flops_of_call
from fastdispatch.measures.flops import measured_steps
from fastdispatch.measures.operator_flops import OperatorCalls
from fastdispatch.read.collectives import SYNCHRONIZING
from fastdispatch.read.columns import rows
from fastdispatch.read.steps import number_of_ranks
from fastdispatch.text.formats import in_flop, printable, size


class _Range(NamedTuple):
    """A figure of a call path over ranks, per measured step of a rank."""

    path: int
    detail: str
    ranks: int
    calls: float  # mean of the ranks, as the next two
    sum: float  # FLOPs, or bytes sent
    other: float  # bytes received
    min: float
    max: float
    min_rank: int
    max_rank: int


def of_measures(steps: MeasuredSteps, *, flops: bool) -> Iterator[Finding | NotDecided]:
    """Yield the collective with the most different bytes, and with ``flops`` the operator with the most different
    FLOPs."""
    rank = steps.trace.ranks[0]
    moved = [each for each in _ranges(rank, "comm") if each.ranks > 1]
    ended = (steps.trace.reduced or {})["ended"]
    if ended[0] != ended[1]:
        yield NotDecided("skewed-comm", "ranks ended different numbers of steps")
        return
    if not moved:
        yield NotDecided("skewed-comm", "no communication was measured: record with measure='comm'")
    skewed = [each for each in moved if _is_skewed(steps, each)]
    if skewed:
        yield _skewed(steps, max(skewed, key=lambda each: each.max - each.min))
    unequal = [each for each in _work(steps) if each.max >= limits.UNEQUAL_CALLS * each.min] if flops else []
    if unequal:
        yield _unequal(steps, max(unequal, key=lambda each: each.max - each.min))


def _ranges(rank: dict[str, Any], kind: str) -> Iterator[_Range]:
    """Yield figures with a range over ranks. All ranks measure nearly as many steps."""
    per_rank = max(measured_steps([rank]) / number_of_ranks([rank]), 1)
    names = "kind context detail ranks count sum other range_min range_max range_min_rank range_max_rank"
    for of, path, detail, ranks, *sums, low, high, first, last in rows(rank["measures"], names):
        if of == kind and ranks > 0 and path >= 0:
            calls, total, other = (each / ranks / per_rank for each in sums)
            ends_of = low / per_rank, high / per_rank, first, last
            yield _Range(path, detail, ranks, calls, total, other, *ends_of)


def _work(steps: MeasuredSteps) -> Iterator[_Range]:
    """Yield the FLOPs of the operators that have one shape on each rank."""
    rank = steps.trace.ranks[0]
    ranks = number_of_ranks([rank])
    counted = {each.context for each in OperatorCalls(steps.trace).of(rank) if each.kind == "flops"}
    by_path: dict[int, list[_Range]] = {}
    for each in _ranges(rank, "shapes"):
        if each.path in counted:
            by_path.setdefault(each.path, []).append(each)
    for path, shapes in by_path.items():
        found = [(each, flops_of_call(steps.key(path), each.detail)) for each in shapes]
        work = [(flops * each.calls, each) for each, flops in found if flops is not None]
        seen = sum(each.ranks for each in shapes)
        if len(work) == len(shapes) and seen <= ranks:
            low, least = min(work, key=lambda one: (one[0], one[1].min_rank))
            high, most = max(work, key=lambda one: (one[0], -one[1].min_rank))
            mean = sum(flops * each.ranks for flops, each in work) / seen
            yield _Range(path, "", seen, most.calls, mean, 0, low, high, least.min_rank, most.min_rank)


def _is_skewed(steps: MeasuredSteps, moved: _Range) -> bool:
    enough = moved.max - moved.min >= limits.SKEW_BYTES and moved.max >= limits.SKEW * moved.min
    return enough and steps.key(moved.path).removeprefix("c10d::") in SYNCHRONIZING


def _time(steps: MeasuredSteps, path: int) -> float:
    """Return the time of a call path with all below, of a rank and step."""
    total: int = steps.paths["total"][path]
    ended: int = sum(each[0] for each in (steps.trace.reduced or {})["latest"].values())
    return total / max(ended, 1)


def _skewed(steps: MeasuredSteps, moved: _Range) -> Finding:
    name = printable(moved.detail.partition(" ")[2].rpartition(":")[0])
    return steps.finding(
        f"{steps.key(moved.path)} of group {name} moves {size(round(moved.max))} per step on rank {moved.max_rank},"
        f" {size(round(moved.min))} on rank {moved.min_rank}",
        steps.where(moved.path, "all_to_all_single", "all_to_all"),
        _time(steps, moved.path) * (1 - max(moved.sum, moved.other) / moved.max),
        f"{moved.ranks} ranks send {size(round(moved.sum))} and receive {size(round(moved.other))} per step on average;"
        " all ranks wait for the largest part",
        ADVICE_SKEWED,
        id="skewed-comm",
        ranks=[moved.max_rank],
        evidence={"bytes_per_step": {str(moved.min_rank): round(moved.min), str(moved.max_rank): round(moved.max)}},
    )


def _unequal(steps: MeasuredSteps, work: _Range) -> Finding:
    site = CallSites(steps.trace).site(work.path)
    return steps.finding(
        f"unequal work: {steps.key(work.path)} of rank {work.max_rank} has {in_flop(work.max)} per step, of rank"
        f" {work.min_rank} {in_flop(work.min)}",
        steps.where(site),
        _time(steps, work.path) * (work.max / work.sum - 1),
        f"the mean of {work.ranks} ranks is {in_flop(work.sum)}: rank {work.max_rank} has larger inputs, or more calls"
        " in other threads than the main one",
        ADVICE_UNEQUAL,
        id="unequal-work",
        ranks=[work.max_rank],
        evidence={"flops_per_step": {str(work.min_rank): round(work.min), str(work.max_rank): round(work.max)}},
    )
