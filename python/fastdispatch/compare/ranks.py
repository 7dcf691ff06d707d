"""Comparison of the ranks of a run: slow ranks, and ranks that wait for them."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import Any

from fastdispatch.dataset.run_loading import load_each, load_some
from fastdispatch.read.rank_rows import coordinates_of, rank_name
from fastdispatch.read.steps import step_time
from fastdispatch.read.trace import PathLike, Steps, Trace, reporting_incomplete

#: A rank is slow if it waits this share of a step less than the others, or works that much longer.
NOTABLE = 0.1

#: Slow ranks that are compared with a typical one.
COMPARED = 8


@dataclass(frozen=True)
class RankTimes:
    """Times of one rank, ns per step (of the run without steps): the time of a step, and time of collectives and
    transfers, including waits."""

    rank: int
    whole: float
    communication: float
    name: str = ""  # with host and place


def is_communication(name: str) -> bool:
    """Return whether a record is of a c10d back end, on its worker thread: ``gloo:all_reduce``, ``nccl:send``."""
    return name.partition(":")[0] in ("gloo", "nccl", "mpi", "ucc", "xccl", "hccl") and not name.startswith("nccl::")


def times(trace: Trace) -> list[RankTimes]:
    found = []
    for rank in trace.ranks:
        table = trace.table("node", rank["rank"])
        steps = rank["steps"] or 1
        columns = zip(table["where"], table["self"], table["async"], strict=True)
        waits = sum(own + asynchronous for where, own, asynchronous in columns if is_communication(where))
        meta = rank["meta"]
        name = rank_name(rank["rank"], str(meta.get("host") or ""), coordinates_of(meta.get("coordinates")))
        whole = step_time([rank]) or rank["recorded"] / steps
        found.append(RankTimes(rank["rank"], whole, min(waits / steps, whole), name))  # some run at the same time
    return found


@dataclass(frozen=True)
class RankVerdict:
    """``slow`` ranks of all, a sentence for each, and the ``typical`` rank."""

    slow: list[int]
    sentences: list[str]
    typical: int
    ranks: int

    def as_json(self) -> dict[str, Any]:
        return {"slow": self.slow, "typical": self.typical, "sentences": self.sentences}


def _median_without(values: list[float], value: float) -> float:
    """Return the median of sorted values except one of them."""
    at = bisect_left(values, value)
    left = len(values) - 1
    low, high = ((left - 1) // 2, left // 2)
    return (values[low + (low >= at)] + values[high + (high >= at)]) / 2


def judge(found: list[RankTimes]) -> RankVerdict:
    """Find slow ranks. A rank that others wait for arrives last, so its own collectives are short. Without
    communication the longer time decides."""
    slow, sentences = [], []
    all_waits = sorted(one.communication for one in found)
    all_wholes = sorted(one.whole for one in found)
    for one in found if len(found) > 1 else ():
        waits = _median_without(all_waits, one.communication)
        wholes = _median_without(all_wholes, one.whole)
        name = one.name or f"rank {one.rank}"
        if waits - one.communication > NOTABLE * one.whole:
            slow.append(one.rank)
            sentences.append(
                f"{name} is slow: {one.communication / 1e6:.3g} ms per step in collectives, other ranks"
                f" {waits / 1e6:.3g} ms, mostly waiting for rank {one.rank}"
            )
        elif not any(each.communication for each in found) and one.whole > wholes * (1 + NOTABLE):
            slow.append(one.rank)
            sentences.append(f"{name} is slow: {one.whole / 1e6:.3g} ms per step, other ranks {wholes / 1e6:.3g} ms")
    rest = sorted((one for one in found if one.rank not in slow), key=lambda one: one.whole) or found
    return RankVerdict(slow, sentences, rest[len(rest) // 2].rank, len(found))


def judged(path: PathLike, steps: Steps) -> tuple[RankVerdict, Trace]:
    """Find the slow ranks of a run, with the recordings of few of many ranks in memory. Returns also a trace with the
    typical rank and at least the first ``COMPARED`` slow ones. Raises Error for invalid inputs."""
    found: list[RankTimes] = []
    traces = 0
    for trace in load_some(path, steps=steps):
        found += times(trace)
        traces += 1
    verdict = judge(sorted(found, key=lambda one: one.rank))
    if traces > 1:
        with reporting_incomplete(None):
            trace = load_each(path, [verdict.typical, *verdict.slow[:COMPARED]], steps=steps)
    return verdict, trace
