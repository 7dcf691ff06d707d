"""Methods of ``Trace`` and ``CallGraph`` that need later packages: reports, findings, pages, pictures and exports as
Python values, which notebooks display. ``import fastdispatch`` attaches them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from fastdispatch import _core
    from fastdispatch.detectors.model import Findings
    from fastdispatch.read.trace import Trace
    from fastdispatch.report.report_model import Report
    from fastdispatch.report.run_summary import Summary

By = Literal["function", "operator", "module", "package", "kernel", "phase"]
Sort = Literal["calls", "ops", "self", "total", "backward", "spread", "gpu", "flops", "bytes", "comm", "allocated"]

_TOP = 20


class Page(bytes):
    """The bytes of a self-contained HTML report; a notebook displays it."""

    def _repr_html_(self) -> str:
        from html import escape

        text = escape(self.decode(), quote=True)
        return f'<iframe sandbox="allow-scripts" style="width:100%;height:640px;border:0" srcdoc="{text}"></iframe>'

    def __repr__(self) -> str:
        return f"<fastdispatch.Page of {len(self)} bytes>"


class Picture(str):
    """An SVG image; a notebook displays it."""

    def _repr_svg_(self) -> str:
        return str(self)

    def __repr__(self) -> str:
        return f"<fastdispatch.Picture of {len(self)} characters>"


class Views:
    """What ``fastdispatch report``, ``findings``, ``html`` and ``svg`` print, as values."""

    if TYPE_CHECKING:

        @property
        def _shown(self) -> Trace:
            """The trace that is shown."""

        def _with_timeline(self) -> Trace:
            """The same with its timeline, if it has one."""

    def report(
        self,
        *,
        by: By = "function",
        sort: Sort | None = None,
        top: int | None = _TOP,
        all: bool = False,
        rank: int | None = None,
        tree: bool = False,
        depth: int | None = None,
        min_percent: float = 1.0,
        paths: int | None = None,
        callers: str | None = None,
        callees: str | None = None,
    ) -> Report:
        """Return the report of ``fastdispatch report``, with the same options: ``print`` prints it, a notebook displays
        it as tables, ``as_json()`` returns it as a document.

        ``sort``: by default GPU time if kernels were recorded, else total. ``top`` and ``all``: rows (None: all), and
        whether they include functions of libraries. ``tree``, ``paths`` (number of hottest paths, 0: as many as cover
        80 % of the time), ``callers`` and ``callees`` (of the function whose key contains this) are other views. Needs
        the extra ``view`` to print. Raises :class:`fastdispatch.Error` for a missing rank or function.
        """
        from fastdispatch.report.report_model import report
        from fastdispatch.report.report_rows import ReportOptions

        neighbours = callers is not None or callees is not None
        options = ReportOptions(
            by="node" if neighbours and by == "function" else by,
            sort=sort,
            top=None if all else top,
            hide=not all,
            rank=rank,
            tree=tree,
            depth=depth,
            min_share=min_percent / 100,
            callers=callers,
            callees=callees,
            paths=paths,
        )
        return report(self._shown, options)

    def findings(self) -> Findings:
        """Return what slows the training down, by estimated gain (docs/guides/findings.md)."""
        from fastdispatch.detectors import findings

        return findings(self._shown)

    def summary(self, *, peak: float | str | None = None) -> Summary:
        """Return the figures of the run as one flat dict for trackers (docs/formats/summary.md). ``peak``: FLOP/s of
        one device, a dtype of a known GPU or ``measure``, for ``fastdispatch/mfu`` and ``fastdispatch/hfu``."""
        from fastdispatch.report.run_summary import run_summary

        return run_summary(self._shown, peak)

    def html(self, path: str | os.PathLike[str] | None = None, *, source: bool = False, max_mb: float = 16) -> Page:
        """Return the self-contained HTML report, and write it to ``path`` if that is given. ``source``: with the source
        code of functions. Needs the extra ``view``; raises :class:`fastdispatch.Error` above ``max_mb``."""
        from fastdispatch.page.html import PageOptions, page

        trace = self._with_timeline()
        made = Page(page(trace, trace.name, PageOptions(source=source, most=int(max_mb * 1e6))))
        _write(path, made)
        return made

    def svg(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        rank: int | None = None,
        style: Literal["default", "classic"] = "default",
        weight: Literal["time", "calls", "gpu"] | None = None,
        ops: Literal["none", "top", "all"] = "none",
        hide: Iterable[str] = (),
        contract: Iterable[str] = (),
        min_percent: float | None = None,
        all: bool = False,
    ) -> Picture:
        """Return the picture of the call graph, and write it to ``path`` if that is given (.svg, .png, .pdf or .dot).
        The options are those of :meth:`Trace.export`. Needs Graphviz; raises :class:`fastdispatch.Error` without."""
        from fastdispatch.graphs.call_exports import call_picture
        from fastdispatch.graphs.call_tree import PictureOptions
        from fastdispatch.page.graphviz import fitted

        options = PictureOptions(rank, style, weight, ops, tuple(hide), tuple(contract), min_percent, all)
        dot = call_picture(self._shown, options)
        if path is not None:
            _write(path, fitted(dot, style, path))
        return Picture(fitted(dot, style, "graph.svg").decode())

    def _repr_html_(self) -> str | None:
        return self.report()._repr_html_()


class TraceViews(Views):
    """What ``fastdispatch export`` writes, too."""

    def export(
        self,
        format: Literal["callgraph", "dot", "folded", "pprof", "chrome", "perfetto"],
        *,
        rank: int | None = None,
        style: Literal["default", "classic"] = "default",
        weight: Literal["time", "calls", "gpu"] | None = None,
        ops: Literal["none", "top", "all"] = "none",
        hide: Iterable[str] = (),
        contract: Iterable[str] = (),
        min_percent: float | None = None,
        all: bool = False,
        durations: Literal["jobs", "name", "args"] = "jobs",
        flows: bool = True,
        align: Literal["none", "wall", "start", "auto", "pingpong", "collective", "p2p"] = "auto",
        strict: bool = False,
        leaves: int = 0,
    ) -> bytes:
        """Return the trace in the format of another program: ``callgraph`` (JSON), ``dot`` (Graphviz), ``chrome`` or
        ``perfetto`` (timelines, of a trace loaded with ``timeline=True``), ``folded`` or
        ``pprof`` (flame graphs); docs/formats/exports.md and docs/guides/timeline.md describe the contents.

        ``durations``: names in a chrome timeline that include durations: those of ``jobs``, ``name`` (all), ``args``
        (none).
        ``flows``: whether a timeline has arrows: from operators to the autograd nodes they made and to their GPU
        intervals, from sends of a pipeline to their receives.
        ``align``: how to align the clocks of ranks on several hosts in a timeline (docs/concepts/clocks.md);
        ``strict`` rejects ranks with an unknown error.
        ``weight``: ``time``, ``calls`` or ``gpu``; None: ``gpu`` if kernels were recorded, else ``time``.
        The other options are those of ``fastdispatch svg``. ``ops``: ``none``, ``top`` or ``all``. ``hide`` and
        ``contract`` are globs of keys or packages. ``min_percent`` is of the time, None the default. ``leaves``: the
        number of boxes without callees on a line of a picture, 0 the default.
        """
        from fastdispatch.graphs.call_exports import call_lists, call_picture
        from fastdispatch.graphs.call_tree import PictureOptions
        from fastdispatch.read.clock_alignment import Aligner
        from fastdispatch.read.folded_stacks import folded_stacks, pprof
        from fastdispatch.read.pipeline_flows import flows_of

        trace = self._shown
        if format == "folded":
            return folded_stacks(trace.core, trace.index(rank), weight).encode()
        if format == "pprof":
            return pprof(trace.core, trace.index(rank))
        options = PictureOptions(rank, style, weight, ops, tuple(hide), tuple(contract), min_percent, all)
        if format == "callgraph":
            return call_lists(trace, options)
        if format == "dot":
            return call_picture(trace, options)(leaves)
        aligner = Aligner(align, strict)
        several = format in ("chrome", "perfetto") and rank is None and len(trace.ranks) > 1
        clocks = aligner.clocks_of(trace.core) if several else None
        index = trace.index(rank)
        transfers = flows_of(trace.core, index, clocks) if flows else None
        rows = clocks.rows() if clocks is not None else None
        return trace.core.export(format, rank=index, durations=durations, flows=flows, clocks=rows, transfers=transfers)


class GraphViews(Views):
    """The views of a CallGraph: those of its settled steps so far."""

    if TYPE_CHECKING:
        _recording: _core.Session | None
        path: str | None

    def _repr_html_(self) -> str | None:
        if self._recording is None or self._recording.active:
            from html import escape

            state = "has not started" if self._recording is None else f"is recording to {self.path or 'memory'}"
            return f"<p>CallGraph {escape(state)}</p>"
        return self.report()._repr_html_()


def _write(path: str | os.PathLike[str] | None, content: bytes) -> None:
    if path is not None:
        from fastdispatch.files.output import write

        write(Path(path), content)


def attach(views: type[Views], to: type) -> None:
    """Add the methods of ``views`` to a class."""
    for kind in reversed(views.__mro__[:-1]):
        for name, method in vars(kind).items():
            if callable(method):
                setattr(to, name, method)
