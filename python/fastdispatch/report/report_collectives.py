"""Collectives of several ranks: waiting for the last rank against transfer, and what that rank does before."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fastdispatch.detectors.measured_steps import MeasuredSteps
from fastdispatch.detectors.rank_figures import extra_path, rank_figures
from fastdispatch.measures.collective_waits import Waits, collective_name, waits
from fastdispatch.read.trace import Trace
from fastdispatch.text.formats import aligned, grouped, printable, rounded_share, seconds, size

#: A function is named as the cause from this part of the delay on.
_EXPLAINS = 0.5
_SHOWN = 8


@dataclass
class CollectiveMeans:
    """The latest collectives of one operator, group and size; of kernels all, by algorithm. Times are means of a
    collective and rank, ns; bytes are the mean of a collective, of the rank with most, 0 if unknown; bandwidths in
    bytes per second, None if unknown. ``last_rank``: the one for which the others waited longest, in ``waited_ns``;
    ``cause``: the function of the program in which it spends ``cause_ns`` more per step than the median of the others;
    empty if no function explains half of its delay.

    ``at_least``: the waits are lower bounds, the transfer is an upper bound. Without a split they are None."""

    operator: str
    group: str
    ranks_in_group: int
    algorithm: str
    collectives: int
    bytes: int
    time_ns: int
    at_least: bool
    wait_ns: int | None = None
    transfer_ns: int | None = None
    last_rank: int | None = None
    last: int = 0  # number of collectives that it began last
    waited_ns: int = 0
    cause: str = ""
    cause_ns: int = 0
    bus_bandwidth: float | None = None
    best_bandwidth: float | None = None


def collectives(trace: Trace) -> list[CollectiveMeans]:
    """Return the collectives of a trace, the longest wait first; empty without ``measure="comm"`` and kernels."""
    rows = [row for row in waits(trace) if row.collectives or row.algorithm]
    if not rows:
        return []
    causes = _Causes(trace)
    return [_means(row, causes) for row in rows]


def _means(row: Waits, causes: _Causes) -> CollectiveMeans:
    count = row.collectives or row.undecided.total()
    parts = count * max(row.ranks, 1)
    made = CollectiveMeans(
        operator=collective_name(row.operator),
        group=row.group,
        ranks_in_group=row.ranks_in_group,
        algorithm=row.algorithm,
        collectives=count,
        bytes=row.bytes // count,
        time_ns=row.time_ns // parts,
        at_least=bool(row.algorithm),
        best_bandwidth=row.best_bandwidth,
    )
    if row.collectives:
        made.wait_ns, made.transfer_ns = row.wait_ns // parts, row.transfer_ns // parts
        rank, waited = row.caused_ns.most_common(1)[0]
        made.last_rank, made.last, made.waited_ns = rank, row.last[rank], waited // parts
        made.cause, extra = causes.of(rank, waited / max((row.last[rank] or count) * (row.ranks - 1), 1))
        made.cause_ns, made.bus_bandwidth = round(extra), row.bus_bandwidth
    return made


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
    yield f"{_name(rows[0])}: {seconds(rows[0].time_ns)}{_sentence(rows[0])}"
    table = [("calls", "time", "wait", "transfer", "bus bandwidth", "of the best", "collective, last rank")]
    table += [_cells(row) for row in rows[:_SHOWN]]
    yield from aligned(table, ">>>>>>", "  ")
    if len(rows) > _SHOWN:
        yield f"  {len(rows) - _SHOWN} more: --json"


def _cells(row: CollectiveMeans) -> tuple[str, str, str, str, str, str, str]:
    """Return the cells of a row: bounds have a sign."""
    least, most = ("≥ ", "≤ ") if row.at_least else ("", "")
    wait = "" if row.wait_ns is None else f"{least}{seconds(row.wait_ns)}"
    transfer = "" if row.transfer_ns is None else f"{most}{seconds(row.transfer_ns)}"
    rate, share, last = "", "", ""
    if row.bus_bandwidth is not None:
        rate = f"{least}{size(round(row.bus_bandwidth))}/s"
        share = rounded_share(row.bus_bandwidth / row.best_bandwidth) if row.best_bandwidth else ""
    if row.waited_ns:
        last = f"rank {row.last_rank}" + (f", last in {grouped(row.last)}" if row.last else "")
    where = f" of group {printable(row.group)}" if row.group else ""
    what = ", ".join(filter(None, (f"{_name(row)}{where}", row.algorithm, last)))
    return grouped(row.collectives), seconds(row.time_ns), wait, transfer, rate, share, what


def _name(row: CollectiveMeans) -> str:
    return f"{row.operator} of {size(row.bytes)}" if row.bytes else row.operator


def _sentence(row: CollectiveMeans) -> str:
    """Return the part of the time that is the wait for one rank."""
    if not row.waited_ns:
        return ", and its wait for other ranks is not known" if row.wait_ns is None else ", without a wait for a rank"
    least = "at least " if row.at_least else ""
    cause = f" ({printable(row.cause)}, {seconds(row.cause_ns)} more per step than others)" if row.cause else ""
    return f", of which {least}{seconds(row.waited_ns)} are the wait for rank {row.last_rank}{cause}"
