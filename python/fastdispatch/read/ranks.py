"""Comparison of the ranks of a run: slow ranks, and ranks that wait for them."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import Any

from fastdispatch.read.steps import step_time
from fastdispatch.read.trace import Trace

#: A rank is slow if it waits this share of a step less than the others, or works that much longer.
NOTABLE = 0.1


@dataclass(frozen=True)
class RankTimes:
    """Times of one rank, ns per step (of the run without steps): the time of a step, and time of collectives and
    transfers, including waits."""

    rank: int
    whole: float
    communication: float


def is_communication(name: str) -> bool:
    """Return whether a record is of a c10d back end, on its worker thread: ``gloo:all_reduce``, ``nccl:send``."""
    return name.partition(":")[0] in ("gloo", "nccl", "mpi", "ucc", "xccl", "hccl") and not name.startswith("nccl::")


def times(trace: Trace) -> list[RankTimes]:
    found = []
    for rank in trace.ranks:
        table = trace.table("node", rank["rank"])
        steps = rank["steps"] or 1
        waits = sum(
            own + asynchronous
            for where, own, asynchronous in zip(table["where"], table["self"], table["async"], strict=True)
            if is_communication(where)
        )
        found.append(RankTimes(rank["rank"], step_time([rank]) or rank["recorded"] / steps, waits / steps))
    return found


@dataclass(frozen=True)
class Verdict:
    """``slow`` ranks, a sentence for each, and the ``typical`` rank."""

    slow: list[int]
    sentences: list[str]
    typical: int

    def as_json(self) -> dict[str, Any]:
        return {"slow": self.slow, "typical": self.typical, "sentences": self.sentences}


def judge(found: list[RankTimes]) -> Verdict:
    """Find slow ranks. A rank that others wait for arrives last, so its own collectives are short. Without
    communication the longer time decides."""
    slow, sentences = [], []
    for one in found:
        others = [other for other in found if other is not one]
        if not others:
            break
        waits = median(other.communication for other in others)
        wholes = median(other.whole for other in others)
        if waits - one.communication > NOTABLE * one.whole:
            slow.append(one.rank)
            sentences.append(
                f"rank {one.rank} is slow: {one.communication / 1e6:.3g} ms per step in collectives, other ranks"
                f" {waits / 1e6:.3g} ms, mostly waiting for rank {one.rank}"
            )
        elif not any(each.communication for each in found) and one.whole > wholes * (1 + NOTABLE):
            slow.append(one.rank)
            sentences.append(
                f"rank {one.rank} is slow: {one.whole / 1e6:.3g} ms per step, other ranks {wholes / 1e6:.3g} ms"
            )
    rest = sorted((one for one in found if one.rank not in slow), key=lambda one: one.whole) or found
    return Verdict(slow, sentences, rest[len(rest) // 2].rank)
