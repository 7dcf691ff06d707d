"""Reports, findings, pages and pictures of a recording as Python values, which notebooks display."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
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


class Views(ABC):
    """What ``fastdispatch report``, ``findings``, ``html`` and ``svg`` print, as values."""

    @property
    @abstractmethod
    def _shown(self) -> Trace:
        """The trace that is shown."""

    @abstractmethod
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
        from fastdispatch.report.report_model import ReportOptions, report

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
        from fastdispatch.graphs.call_exports import PictureOptions, call_picture
        from fastdispatch.page.graphviz import fitted

        options = PictureOptions(rank, style, weight, ops, tuple(hide), tuple(contract), min_percent, all)
        dot = call_picture(self._shown, options)
        if path is not None:
            _write(path, fitted(dot, style, path))
        return Picture(fitted(dot, style, "graph.svg").decode())

    def _call_graph(self, format: str, options: tuple[Any, ...], leaves: int) -> bytes:
        """Return an export of the call graph. ``options``: fields of ``PictureOptions``."""
        from fastdispatch.graphs.call_exports import PictureOptions, call_lists, call_picture

        known = PictureOptions(*options)
        return call_picture(self._shown, known)(leaves) if format == "dot" else call_lists(self._shown, known)

    def _repr_html_(self) -> str | None:
        return self.report()._repr_html_()


def _write(path: str | os.PathLike[str] | None, content: bytes) -> None:
    if path is not None:
        from fastdispatch.files.output import write

        write(Path(path), content)
