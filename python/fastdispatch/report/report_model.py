"""The model of a report, built once; printed as text or JSON (``docs/reference/schemas/report.schema.json``)."""

from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

from fastdispatch.detectors import Finding, findings
from fastdispatch.read.compilations import compilations
from fastdispatch.read.processes import Processes, processes
from fastdispatch.read.trace import Trace
from fastdispatch.report.report_activities import Activity, activities, backward_passes
from fastdispatch.report.report_collectives import CollectiveMeans, collectives
from fastdispatch.report.report_facts import Facts, facts
from fastdispatch.report.report_find import Neighbours, neighbours
from fastdispatch.report.report_paths import Paths, paths
from fastdispatch.report.report_rows import Listing, ReportOptions, listing, phase_listing
from fastdispatch.report.report_tree import Branch, tree

SCHEMA = "fastdispatch-report/1"

#: Sort keys of recordings without times.
_UNTIMED = ("calls", "ops", "flops", "bytes", "comm", "allocated")


@dataclass(repr=False)
class Report:
    """A report: ``str`` returns its text, a notebook displays it as tables.

    One of ``listing``, ``tree``, ``neighbours`` and ``paths`` is set; the rest describes the recording.
    """

    path: str
    options: ReportOptions
    facts: Facts
    trace: Trace
    listing: Listing | None = None
    tree: list[Branch] | None = None
    neighbours: Neighbours | None = None
    paths: Paths | None = None
    processes: list[Processes] = field(default_factory=list)
    compiler: list[dict[str, Any]] = field(default_factory=list)
    activities: list[Activity] = field(default_factory=list)
    backward_passes: float | None = None
    collectives: list[CollectiveMeans] = field(default_factory=list)

    @cached_property
    def findings(self) -> list[Finding]:
        """The findings of all ranks; only the text of a listing needs them."""
        return findings(self.trace).findings

    @property
    def timing(self) -> bool:
        """Whether the recording has times, or only counts."""
        return self.facts.whole > 0

    def __str__(self) -> str:
        from fastdispatch.report.report_text import text_of

        return text_of(self)

    def _repr_html_(self) -> str | None:
        try:
            from fastdispatch.report.report_text import html_of_report
        except ModuleNotFoundError:  # without the extra `view`
            return None
        return html_of_report(self)

    def as_json(self) -> dict[str, Any]:
        """Return the document of ``docs/reference/schemas/report.schema.json``."""
        return {
            "schema": SCHEMA,
            "path": self.path,
            "unit": "ns",
            "timing": self.timing,
            **asdict(self.facts),
            **{name: getattr(self.options, name) for name in ("by", "sort", "rank")},
            "rows": None if self.listing is None else [asdict(row) for row in self.listing.rows],
            "more": 0 if self.listing is None else self.listing.more,
            "hidden": None if self.listing is None else asdict(self.listing.hidden),
            "measured": {} if self.listing is None else self.listing.measured,
            "tree": None if self.tree is None else [vars(branch) for branch in self.tree],
            "neighbours": None if self.neighbours is None else asdict(self.neighbours),
            "paths": None if self.paths is None else asdict(self.paths),
            "processes": [asdict(group) for group in self.processes],
            "compiler": self.compiler,
            "activities": [asdict(each) for each in self.activities],
            "backward_passes": self.backward_passes,
            "collectives": [asdict(each) for each in self.collectives],
        }


def report(trace: Trace, options: ReportOptions, path: str | None = None) -> Report:
    """Build a report, with the compiler and the other processes of its recording; ``path``: its name, by default that
    of the trace. Raises Error for a missing rank, and for names of no function or of several."""
    made = Report(path or trace.name, options, facts(trace, options.rank), trace)
    made.compiler = [each for each in compilations(trace) if options.rank in (None, each["rank"])]
    if options.rank is None and made.timing:
        made.activities, made.backward_passes = activities(trace), backward_passes(trace)
        made.collectives = collectives(trace)
    if len(trace.sources) == 1:
        others = processes(trace.sources[0], trace)
        made.processes = [each for each in others if options.rank in (None, each.rank)]
    by = "self" if options.sort == "self" and made.timing else made.facts.weight
    if options.sort is None:
        options.sort = "gpu" if made.facts.weight == "gpu" else "total"
    name = options.callers or options.callees
    if name is not None:
        made.neighbours = neighbours(trace, options, name, made.facts)
    elif options.paths is not None:
        made.paths = paths(trace, options.rank, made.facts.whole_role, options.paths, by)
    elif options.tree:
        made.tree = tree(trace, options, made.facts)
    else:
        wanted = "gpu" if options.by == "kernel" and options.sort == "total" else options.sort  # kernels have no total
        options.sort = wanted if made.timing or wanted in _UNTIMED else "calls"
        by = options.by
        rows = phase_listing(trace, options, made.facts) if by == "phase" else listing(trace, by, options, made.facts)
        made.listing = rows
    return made
