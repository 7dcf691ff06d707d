"""``skewed-comm``: ranks of one group exchange different amounts of bytes in the same collective."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import mean

from fastdispatch.detectors import limits
from fastdispatch.detectors.measured_steps import MeasuredSteps, steps_of
from fastdispatch.detectors.model import Finding, NotDecided
from fastdispatch.measures.flops import measured_steps
from fastdispatch.measures.measured import communicated
from fastdispatch.read.collectives import SYNCHRONIZING
from fastdispatch.text.formats import printable, size

ID = "skewed-comm"

ADVICE = "give all ranks the same part: a loss that balances the experts, a capacity per expert, chunks of equal length"

#: Bytes per step of each rank, by call path and group.
_Moved = dict[tuple[int, str], dict[int, float]]


def find(steps: MeasuredSteps) -> Iterator[Finding | NotDecided]:
    if len(steps.ranks) < 2:
        yield NotDecided(ID, "one rank")
        return
    moved = _moved(steps)
    if not moved:
        yield NotDecided(ID, "no communication was measured: record with measure='comm'")
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
        ID,
        f"{steps.key(path)} of group {name} moves {size(round(ranks[most]))} per step on rank {most},"
        f" {size(round(ranks[least]))} on rank {least}",
        steps.where(path, "all_to_all_single", "all_to_all"),
        time * (1 - mean(ranks.values()) / ranks[most]),
        f"the larger of bytes sent and received per step: {size(round(mean(ranks.values())))} is the mean of"
        f" {len(ranks)} ranks; all ranks wait for the largest part",
        ADVICE,
        ranks=[most],
        evidence={"bytes_per_step": {str(rank): round(ranks[rank]) for rank in sorted(ranks)}},
    )
