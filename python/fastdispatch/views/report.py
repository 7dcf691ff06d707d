"""A report as plain values, printed or written as JSON (``docs/reference/schemas/report.schema.json``)."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from fastdispatch.trace import Trace
from fastdispatch.views.report_facts import Facts, facts
from fastdispatch.views.report_find import Neighbours, neighbours
from fastdispatch.views.report_paths import Paths, paths
from fastdispatch.views.report_phases import phase_listing
from fastdispatch.views.report_rows import SORTS, Listing, listing
from fastdispatch.views.report_tree import Branch, tree

SCHEMA = "fastdispatch-report/1"


@dataclass
class Wanted:
    """What a report is asked for."""

    by: str = "function"  # function, operator, module, package, phase; for callers and callees also node
    sort: str = "total"
    top: int | None = None
    hide: bool = True
    rank: int | None = None
    tree: bool = False
    depth: int | None = None
    least: float = 0.01  # of everything: what a branch of the tree must have
    callers: str | None = None
    callees: str | None = None
    paths: int | None = None  # how many; 0: as many as have most of the time


@dataclass
class Report:
    """One of ``listing``, ``tree``, ``neighbours`` and ``paths`` is there; all else is about the recording."""

    path: str
    wanted: Wanted
    facts: Facts
    listing: Listing | None = None
    tree: list[Branch] | None = None
    neighbours: Neighbours | None = None
    paths: Paths | None = None

    @property
    def timing(self) -> bool:
        """Whether there are times, or counts only."""
        return self.facts.whole > 0

    def as_json(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "path": self.path,
            "unit": "ns",
            "timing": self.timing,
            **asdict(self.facts),
            **{name: getattr(self.wanted, name) for name in ("by", "sort", "rank")},
            "rows": None if self.listing is None else [asdict(row) for row in self.listing.rows],
            "more": 0 if self.listing is None else self.listing.more,
            "hidden": None if self.listing is None else asdict(self.listing.hidden),
            "tree": None if self.tree is None else [vars(branch) for branch in self.tree],
            "neighbours": None if self.neighbours is None else asdict(self.neighbours),
            "paths": None if self.paths is None else asdict(self.paths),
        }


def report(trace: Trace, path: str, wanted: Wanted) -> Report:
    """Raises Error for a rank that is not there and for names of no function or of several."""
    made = Report(path, wanted, facts(trace, wanted.rank))
    whole = made.facts.whole
    name = wanted.callers or wanted.callees
    if name is not None:
        side = "callers" if wanted.callers is not None else "callees"
        made.neighbours = neighbours(
            trace, wanted.by, wanted.rank, name, side, wanted.top, whole=whole, hide=wanted.hide
        )
    elif wanted.paths is not None:
        made.paths = paths(trace, wanted.rank, made.facts.whole_role, wanted.paths, by_calls=not made.timing)
    elif wanted.tree:
        made.tree = tree(
            trace,
            wanted.rank,
            whole=whole,
            least=wanted.least,
            depth=wanted.depth,
            by_calls=not made.timing,
            all_=not wanted.hide,
        )
    else:
        sort = wanted.sort if made.timing or wanted.sort in ("calls", "ops") else "calls"
        wanted.sort = sort
        if wanted.by == "phase":
            made.listing = phase_listing(trace, wanted.rank, made.facts, SORTS[sort])
        else:
            made.listing = listing(trace, wanted.by, wanted.rank, sort, wanted.top, whole=whole, hide=wanted.hide)
    return made
