"""Findings of a sum of ranks: ranks that differ from the others, call path by call path."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from fastdispatch.dataset.run_loading import load_run, one_rank, rank_times
from fastdispatch.detectors import limits
from fastdispatch.detectors.decide import DETECTORS, decide, sorted_results
from fastdispatch.detectors.measured_ranks import of_measures
from fastdispatch.detectors.measured_steps import MeasuredSteps
from fastdispatch.detectors.model import Finding, Findings, NotDecided, Where
from fastdispatch.detectors.rank_figures import waiting
from fastdispatch.detectors.rank_work import ADVICE_SLOW, ADVICE_UNEQUAL
from fastdispatch.read.missing import missing_ranks
from fastdispatch.read.rank_rows import RankTime, common
from fastdispatch.read.steps import step_time
from fastdispatch.read.trace import Trace
from fastdispatch.text.formats import percent, seconds

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


def _where(steps: MeasuredSteps, row: dict[str, int]) -> Where:
    return steps.where(row["context"])


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
        _where(steps, row),
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
        _where(steps, row),
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
