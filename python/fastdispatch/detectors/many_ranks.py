"""Findings of a sum of ranks: ranks that differ from the others, call path by call path, or in measured figures."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from fastdispatch.dataset.run_loading import load_run, one_rank, rank_times
from fastdispatch.detectors import limits
from fastdispatch.detectors.communication import ADVICE_SKEWED
from fastdispatch.detectors.decide import DETECTORS, decide, sorted_results
from fastdispatch.detectors.measured_steps import MeasuredSteps
from fastdispatch.detectors.model import Finding, Findings, NotDecided
from fastdispatch.detectors.rank_figures import waiting
from fastdispatch.detectors.rank_work import ADVICE_SLOW, ADVICE_UNEQUAL
from fastdispatch.measures.call_sites import CallSites
from fastdispatch.measures.flop_formulas import flops_of_call
from fastdispatch.measures.flops import OperatorCalls, measured_steps
from fastdispatch.read.collectives import SYNCHRONIZING
from fastdispatch.read.columns import rows
from fastdispatch.read.missing import missing_ranks
from fastdispatch.read.rank_rows import RankTime, common
from fastdispatch.read.steps import number_of_ranks, step_time
from fastdispatch.read.trace import Trace
from fastdispatch.text.formats import in_flop, percent, printable, seconds, size


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


_OF_RANKS = ("slow-rank", "unequal-work", "skewed-comm")


def findings_of_ranks(trace: Trace, path: str, sample: Trace | None = None) -> Findings:
    """Return the findings of a sum of ranks: of its ranks, and of the program by a sample of them. Without one,
    detectors that need single ranks are not decided."""
    about = trace.reduced or {}
    ranks = [rank for first, last in about["ranks"] for rank in range(first, last + 1)]
    steps = sum(times[0] for times in about["latest"].values())
    results: list[Finding | NotDecided]
    if sample is None:
        results = [NotDecided(id, "a sum of ranks: give one rank") for id in DETECTORS if id not in _OF_RANKS]
    else:
        program = decide(sample, path)
        results = [each for each in (*program, *program.not_decided) if each.id not in _OF_RANKS]
    reason = _too_little(about, ranks, steps)
    results += [NotDecided(id, reason) for id in _OF_RANKS] if reason else _outliers(trace, about)
    found, undecided = sorted_results(results)
    return Findings(path, step_time(trace.ranks), steps, ranks, found, undecided, missing_ranks(trace.ranks))


def _too_little(about: dict[str, Any], ranks: list[int], steps: int) -> str:
    if not steps:
        return "no training step was recorded"
    if about["world"] and len(ranks) < limits.COVERED * about["world"]:
        return f"only {len(ranks)} of {about['world']} ranks were recorded"
    return ""


def _outliers(trace: Trace, about: dict[str, Any]) -> Iterator[Finding | NotDecided]:
    """Yield the path with the most extra time, without communication, the outermost path with different counts, and
    what differs in measured figures."""
    steps = MeasuredSteps(trace, None, (), None)
    per_rank = max(sum(times[0] for times in about["latest"].values()) / max(trace.ranks[0]["world"], 1), 1)
    rows = _rows(steps)
    if _differ(about):  # as if the slowest rank had the most steps
        rows = [row | {"self_max": round(row["self_max"] * _mean_share(about))} for row in rows]
    slow = max(rows, key=lambda row: row["self_max"] - row["self_median"], default=None)
    if slow is not None and _is_slow(slow, steps.typical * per_rank):
        when = _when(trace, slow, per_rank)
        yield _slow(steps, slow, per_rank, rank_times(trace, slow["context"]), when)
    counts = list(_counts(steps, about))
    yield from counts
    yield from of_measures(steps, flops=not counts)


def _rows(steps: MeasuredSteps) -> list[dict[str, int]]:
    """Return the call paths of main threads without communication, with their spread over ranks."""
    spreads, waits = steps.trace.spreads, waiting(steps)
    rows = [dict(zip(spreads, row, strict=True)) for row in zip(*spreads.values(), strict=True)]
    return [row for row in rows if steps.main[row["context"]] and not waits[row["context"]]]


def _differ(about: dict[str, Any]) -> bool:
    """Return whether the ranks have different settled steps."""
    return about["window"] is not None and len({times[0] for times in about["latest"].values()}) > 1


def _mean_share(about: dict[str, Any]) -> float:
    """Return the mean number of settled steps of a rank as a share of the largest."""
    ranks: int = sum(last - first + 1 for first, last in about["ranks"])
    steps: int = sum(times[0] for times in about["latest"].values())
    most: int = about["window"]["steps"]
    return min(steps / max(ranks * most, 1), 1.0)


def _counts(steps: MeasuredSteps, about: dict[str, Any]) -> Iterator[Finding | NotDecided]:
    """Yield the outermost path with different counts. If the ranks have different settled steps, the counts are those
    of the whole recordings, of paths that settled steps have."""
    settled = steps.trace
    if about["ended"][0] != about["ended"][1]:
        return
    if _differ(about):
        if len(settled.sources) != 1:
            yield NotDecided("unequal-work", "the ranks have different settled steps")
            return
        steps = MeasuredSteps(load_run(settled.sources[0]), None, (), None)
    different = (row for row in _rows(steps) if row["calls_min"] != row["calls_max"])
    odd = next((row for row in different if same_path(steps.trace, row["context"], settled) is not None), None)
    if odd is not None:
        yield _odd(steps, odd, rank_times(steps.trace, odd["context"]))


def _is_slow(row: dict[str, int], whole: float) -> bool:
    """A robust distance: 6 times the spread of most ranks, which the 95th percentile shows (1.64 deviations)."""
    extra = row["self_max"] - row["self_median"]
    return extra > limits.RANK_SIGMAS * (row["self_p95"] - row["self_median"]) / 1.64 and extra > (
        limits.RANK_SHARE * whole
    )


def _named(times: list[RankTime], rank: int) -> str:
    return next((each.name for each in times if each.rank == rank), f"rank {rank}")


def _when(trace: Trace, row: dict[str, int], per_rank: float) -> SlowSteps | None:
    """Read the recording of the slowest rank; None if it is gone."""
    one = one_rank(trace, row["self_max_rank"])
    context = None if one is None else same_path(trace, row["context"], one)
    if one is None or context is None:
        return None
    usual = row["self_median"] / per_rank
    return slow_steps(one.ranks[one.index(row["self_max_rank"])], context, usual, row["self_max"] / per_rank - usual)


def _slow(
    steps: MeasuredSteps, row: dict[str, int], per_rank: float, times: list[RankTime], when: SlowSteps | None
) -> Finding:
    rank, extra = row["self_max_rank"], (row["self_max"] - row["self_median"]) / per_rank
    key = steps.key(row["context"])
    alike = common(times, rank)
    return steps.finding(
        f"{_named(times, rank)} spends {seconds(row['self_max'] / per_rank)} per step in {key}, the median rank"
        f" {seconds(row['self_median'] / per_rank)}",
        steps.where(row["context"]),
        extra,
        f"{seconds(extra)} more, {percent(extra / max(steps.typical, 1))} of a step; 95 % of {row['ranks']} ranks spend"
        f" at most {seconds(row['self_p95'] / per_rank)}"
        + (f"; {when}" if when is not None else "")
        + (f"; {alike} have at least half of this excess" if alike else ""),
        ADVICE_SLOW,
        id="slow-rank",
        ranks=[rank],
        evidence={name: row[name] for name in ("ranks", "self_min", "self_median", "self_p95", "self_max")}
        | ({} if when is None else {"slow_steps": when._asdict()}),
    )


def _odd(steps: MeasuredSteps, row: dict[str, int], times: list[RankTime]) -> Finding:
    least, most = row["calls_min_rank"], row["calls_max_rank"]
    total = sum(steps.paths["calls"][row["context"] : row["context"] + 1])
    rank = most if total - row["calls_min"] * row["ranks"] <= row["calls_max"] * row["ranks"] - total else least
    return steps.finding(
        f"{_named(times, rank)} calls {steps.key(row['context'])} a different number of times than other ranks",
        steps.where(row["context"]),
        0,
        f"{row['calls_max']} calls on rank {most}, {row['calls_min']} on rank {least}, {total} on {row['ranks']} ranks",
        ADVICE_UNEQUAL,
        id="unequal-work",
        ranks=[rank],
        evidence={name: row[name] for name in ("ranks", "calls_min", "calls_max")},
    )


#: Share of the steps of an interval that must be slow. Steps outside it must be usual.
_DENSE = 0.8

#: An interval with more of the steps is the whole recording.
_MOST = 0.9


class SlowSteps(NamedTuple):
    """Numbers of the first and the last slow step, of the slow ones among ``steps`` latest steps, and the times (ns
    since 1970, UTC) at which the first began and the last ended."""

    first: int
    last: int
    slow: int
    steps: int
    begin: int
    end: int

    def __str__(self) -> str:
        if self.slow > _MOST * self.steps:
            return f"in {self.slow} of the latest {self.steps} steps"
        all_slow = self.slow == self.last - self.first + 1
        where = f"in step {self.first}" if self.slow == 1 else f"in steps {self.first} to {self.last}"
        where += "" if all_slow else f" ({self.slow} of them)"
        return f"{where}, {_clock(self.begin)} to {_clock(self.end)} UTC"


def _clock(ns: int) -> str:
    return time.strftime("%H:%M:%S", time.gmtime(ns // 1_000_000_000))


def slow_steps(rank: Mapping[str, Any], context: int, usual: float, extra: float) -> SlowSteps | None:
    """Return the latest steps in which the self time (ns) of a context exceeds ``usual`` by at least half of ``extra``,
    the excess per step; None if these steps are not in one interval, or if the recording lists no such step.

    Only the most expensive contexts of each step are known. A context that is not among them counts as usual.
    """
    latest, tops = rank["latest_steps"], rank["step_tops"]
    times = {
        step: self for step, of, self in zip(tops["step"], tops["context"], tops["self"], strict=True) if of == context
    }
    numbers: Sequence[int] = latest["number"]
    slow = [row for row, number in enumerate(numbers) if times.get(number, 0) > usual + extra / 2]
    if not slow or len(slow) < _DENSE * (slow[-1] - slow[0] + 1):
        return None
    start = rank["start_realtime"]
    first, last = slow[0], slow[-1]
    return SlowSteps(
        numbers[first],
        numbers[last],
        len(slow),
        len(numbers),
        start + latest["begin"][first],
        start + latest["end"][last],
    )


_CallKey = tuple[str, int, str]


def same_path(trace: Trace, context: int, other: Trace) -> int | None:
    """Return the context of another trace with the same functions and modules from the root, and the same origin."""
    wanted = _path(trace, context), _origin(trace, context)
    key = trace.nodes["key"][trace.contexts["node"][context]]
    return next(
        (
            row
            for row, node in enumerate(other.contexts["node"])
            if other.nodes["key"][node] == key and (_path(other, row), _origin(other, row)) == wanted
        ),
        None,
    )


def _path(trace: Trace, context: int) -> list[_CallKey]:
    nodes, modules, contexts = trace.nodes, trace.modules, trace.contexts
    path: list[_CallKey] = []
    while context >= 0:
        node, module = contexts["node"][context], contexts["module"][context]
        path.append((nodes["key"][node], nodes["line"][node], modules["path"][module] if module >= 0 else ""))
        context = contexts["parent"][context]
    return path


def _origin(trace: Trace, context: int) -> list[_CallKey]:
    return _path(trace, trace.contexts["origin"][context])
