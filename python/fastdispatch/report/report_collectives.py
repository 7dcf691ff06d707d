"""Collectives of several ranks: waiting for the last rank against transfer, and what that rank does before."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fastdispatch.detectors.measured_steps import MeasuredSteps
from fastdispatch.detectors.rank_figures import extra_path, rank_figures
from fastdispatch.measures.collective_waits import Waits, collective_name, waits
from fastdispatch.read.trace import Trace
from fastdispatch.report.terminal import rounded_share
from fastdispatch.text.formats import aligned, grouped, printable, seconds, size

#: A function is named as the cause from this part of the delay on.
_EXPLAINS = 0.5
_SHOWN = 8


@dataclass
class CollectiveMeans:
    """The latest collectives of one operator, group and size. Times are means of a collective and rank, ns; bytes are
    the mean of a collective, of the rank with most; bandwidths in bytes per second, None of operators without bytes.
    ``last_rank``: the one for which the others waited longest, in ``waited_ns``; ``cause``: the function of the program
    in which it spends ``cause_ns`` more per step than the median of the others; empty if no function explains half of
    its delay."""

    operator: str
    group: str
    ranks_in_group: int
    collectives: int
    bytes: int
    time_ns: int
    wait_ns: int
    transfer_ns: int
    last_rank: int
    last: int  # number of collectives that it began last
    waited_ns: int
    cause: str
    cause_ns: int
    bus_bandwidth: float | None
    best_bandwidth: float | None


def collectives(trace: Trace) -> list[CollectiveMeans]:
    """Return the collectives of a trace of several ranks, the longest wait first; empty without ``measure="comm"``."""
    rows = [row for row in waits(trace) if row.collectives]
    if not rows:
        return []
    causes = _Causes(trace)
    return [_collective(row, causes) for row in rows]


def _collective(row: Waits, causes: _Causes) -> CollectiveMeans:
    rank, waited = row.caused_ns.most_common(1)[0]
    parts = row.collectives * row.ranks_in_group
    late = waited / max(row.last[rank] * (row.ranks_in_group - 1), 1)
    cause, extra = causes.of(rank, late)
    return CollectiveMeans(
        collective_name(row.operator),
        row.group,
        row.ranks_in_group,
        row.collectives,
        row.bytes // row.collectives,
        (row.wait_ns + row.transfer_ns) // parts,
        row.wait_ns // parts,
        row.transfer_ns // parts,
        rank,
        row.last[rank],
        waited // parts,
        cause,
        round(extra),
        row.bus_bandwidth,
        row.best_bandwidth,
    )


class _Causes:
    """The function of each rank that takes most time more than on other ranks."""

    def __init__(self, trace: Trace) -> None:
        self._steps = MeasuredSteps(trace)
        figures = rank_figures(self._steps)
        self._extra: dict[int, tuple[int, float]] = {}
        for one in figures if len(figures) > 1 else ():
            self._extra[one.rank] = extra_path(self._steps, one, [other for other in figures if other is not one])

    def of(self, rank: int, late: float) -> tuple[str, float]:
        """Return the key of the function if it explains that the rank begins a collective ``late`` ns after others,
        and its extra time."""
        path, extra = self._extra.get(rank, (0, 0.0))
        return (self._steps.key(path), extra) if late and extra >= _EXPLAINS * late else ("", 0.0)


def collective_lines(rows: list[CollectiveMeans]) -> Iterator[str]:
    """Yield a sentence about the longest wait, and a table."""
    if not rows:
        return
    yield f"{_name(rows[0])}: {seconds(rows[0].time_ns)}, {_sentence(rows[0])}"
    table = [("calls", "time", "wait", "transfer", "bus bandwidth", "of the best", "collective, last rank")]
    for row in rows[:_SHOWN]:
        rate = "" if row.bus_bandwidth is None else f"{size(round(row.bus_bandwidth))}/s"
        share = (
            rounded_share(row.bus_bandwidth / row.best_bandwidth) if row.bus_bandwidth and row.best_bandwidth else ""
        )
        last = f"rank {row.last_rank}, last in {grouped(row.last)}" if row.waited_ns else ""
        what = ", ".join([f"{_name(row)} of group {printable(row.group)}", *([last] if last else [])])
        times = (seconds(row.time_ns), seconds(row.wait_ns), seconds(row.transfer_ns))
        table.append((grouped(row.collectives), *times, rate, share, what))
    yield from aligned(table, ">>>>>>", "  ")
    if len(rows) > _SHOWN:
        yield f"  {len(rows) - _SHOWN} more: --json"


def _name(row: CollectiveMeans) -> str:
    return f"{row.operator} of {size(row.bytes)}" if row.bytes else row.operator


def _sentence(row: CollectiveMeans) -> str:
    """Return the part of the time that is the wait for one rank."""
    if not row.waited_ns:
        return "without a wait for a rank"
    cause = f" ({printable(row.cause)}, {seconds(row.cause_ns)} more per step than others)" if row.cause else ""
    return f"of which {seconds(row.waited_ns)} are the wait for rank {row.last_rank}{cause}"
