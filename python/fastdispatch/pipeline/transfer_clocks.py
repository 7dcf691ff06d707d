"""Clock offsets between ranks without a common clock, from their transfers: data is received after it is sent. Both
directions together bound the offset."""

from typing import Any

from fastdispatch._core import Error
from fastdispatch.read.clock_maps import Bound, fit_bounds
from fastdispatch.read.schedule_jobs import SA, SG


def require_one_clock(ranks: dict[str, Any]) -> None:
    """Raise Error if ranks of a line have no common clock before transfers bound it."""
    first: dict[int, tuple[int, bool]] = {}
    for rank, line, unsure in zip(ranks["rank"], ranks["line"], ranks["unsure_ns"], strict=True):
        other, unknown = first.setdefault(line, (rank, unsure < 0))
        if other != rank and (unknown or unsure < 0):
            raise Error(
                f"the clocks of rank {other} and rank {rank} are not aligned: they are of different hosts; "
                "omit --require-aligned-clocks for bounds"
            )


def bound_clocks(made: dict[str, Any]) -> None:
    """Move the times of ranks with an unknown clock (``unsure_ns`` -1) to the clock of the first rank of their line,
    and set ``unsure_ns`` to the maximum error. Ranks without transfers in both directions stay unknown."""
    ranks, jobs = made["ranks"], made["jobs"]
    if -1 not in ranks["unsure_ns"].tolist():
        return
    for table, names in ((ranks, ("unsure_ns", "moved_ns")), (jobs, ("start", "end"))):
        table |= {name: table[name].tolist() for name in names}
    unsure = ranks["unsure_ns"]
    known = {line for line, each in zip(ranks["line"], unsure, strict=True) if each >= 0}
    for at, line in enumerate(ranks["line"]):
        if line not in known:
            known.add(line)
            unsure[at] = 0
    todo = [at for at, each in enumerate(unsure) if each < 0]
    while todo:
        left = [at for at in todo if not _bound_clock(ranks, jobs, at)]
        if left == todo:
            return
        todo = left


def _bound_clock(ranks: dict[str, Any], jobs: dict[str, Any], at: int) -> bool:
    """Move the clock of a rank by its transfers; return whether they bound it."""
    unsure = ranks["unsure_ns"]
    rows = range(ranks["first"][at], ranks["end"][at])
    pairs = [(row, other) for row in rows if (other := jobs["other"][row]) >= 0]
    pairs = [(row, other) for row, other in pairs if jobs["at"][other] != at and unsure[jobs["at"][other]] >= 0]
    fit = fit_bounds([_bound(jobs, row, other) for row, other in pairs])
    if fit is None:
        return False
    for name in ("start", "end"):
        jobs[name][rows.start : rows.stop] = [fit.clock(time) for time in jobs[name][rows.start : rows.stop]]
    ranks["moved_ns"][at] = fit.clock.offset
    unsure[at] = fit.uncertainty + max(unsure[jobs["at"][other]] for _, other in pairs)
    return True


def _bound(jobs: dict[str, Any], row: int, other: int) -> Bound:
    if jobs["kind"][row] in (SA, SG):
        return Bound(jobs["start"][row], jobs["end"][other], earlier=True)
    return Bound(jobs["end"][row], jobs["start"][other], earlier=False)
