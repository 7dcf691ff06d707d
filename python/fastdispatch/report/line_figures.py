"""``fastdispatch report --lines``: executions and time of source lines (docs/concepts/calls.md)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from fastdispatch._core import Error
from fastdispatch.dataset.reduced import about_of
from fastdispatch.measures.line_sums import figures_by_node
from fastdispatch.read.privacy import is_anonymous
from fastdispatch.read.source_files import find_source, source_folders
from fastdispatch.read.trace import Trace
from fastdispatch.text.formats import aligned, counted, grouped, printable, seconds, spans

#: Name, file and first line of a function: methods of several classes with the same code are one.
_Function = tuple[str, str, int]


@dataclass
class LineRow:
    """One source line, over all recorded ranks. ``text``: None if the file is not here, or has changed."""

    line: int
    hits: int
    time_ns: int
    longest_ns: int
    text: str | None = None


@dataclass
class LinesOfFunction:
    """The executed lines of one function. ``time_ns``: of all of them, with the functions they call."""

    name: str
    file: str
    line: int
    time_ns: int
    lines: list[LineRow] = field(default_factory=list)


@dataclass
class LineReport:
    ranks: list[int]
    functions: list[LinesOfFunction]
    not_recorded: int  # without room


def line_report(trace: Trace, shown: str, *, wanted: str = "", rank: int | None = None) -> LineReport:
    """Return the functions whose file or key contains ``wanted``, by time. Raises Error without any."""
    nodes = trace.nodes
    by_node = figures_by_node(trace, rank)
    if not by_node:
        of = "" if rank is None else f" of rank {rank}"
        raise Error(f"--lines: {shown} has no source lines{of}: record with detail='lines'")
    merged: dict[_Function, dict[int, LineRow]] = {}
    for node, rows in by_node.items():
        if wanted in nodes["key"][node] or wanted in nodes["file"][node]:
            function = (nodes["qualified"][node] or nodes["name"][node], nodes["file"][node], nodes["line"][node])
            _add(merged.setdefault(function, {}), rows)
    if not merged:
        raise Error(f"--lines {wanted}: {shown} has no lines of a function whose file or key contains {wanted!r}")
    texts = _Texts(trace)
    functions = [_function(*function, rows, texts) for function, rows in merged.items()]
    functions.sort(key=lambda each: (-each.time_ns, each.file, each.line))
    ranks = [number for first, last in about_of(trace)["ranks"] for number in range(first, last + 1)]
    lost = sum(each["counters"]["measures_full"] for each in trace.ranks if rank in (None, each["rank"]))
    return LineReport(ranks if rank is None else [rank], functions, lost)


def _add(to: dict[int, LineRow], rows: dict[int, list[int]]) -> None:
    for line, (hits, total, longest) in rows.items():
        row = to.setdefault(line, LineRow(line, 0, 0, 0))
        row.hits += hits
        row.time_ns += total
        row.longest_ns = max(row.longest_ns, longest)


class _Texts:
    """Source files of a recording on this machine."""

    def __init__(self, trace: Trace) -> None:
        self._nodes = trace.nodes
        self._folders: list[Path] = [] if is_anonymous() else list(source_folders(trace))
        self._files: dict[str, list[str]] = {}

    def lines(self, file: str) -> list[str]:
        if file not in self._files:
            nodes = self._nodes
            rows = zip(nodes["name"], nodes["line"], nodes["file"], strict=True)
            functions = [(name, line) for name, line, each in rows if each == file and line]
            self._files[file] = [text.rstrip("\n") for text in find_source(file, self._folders, functions)[1]]
        return self._files[file]


def _function(name: str, file: str, line: int, rows: dict[int, LineRow], texts: _Texts) -> LinesOfFunction:
    source = texts.lines(file)
    for row in rows.values():
        row.text = source[row.line - 1] if 0 < row.line <= len(source) else None
    total = sum(row.time_ns for row in rows.values())
    return LinesOfFunction(name, file, line, total, [rows[number] for number in sorted(rows)])


def line_report_json(made: LineReport) -> dict[str, Any]:
    return {"schema": "fastdispatch-lines/1", **asdict(made)}


def line_report_lines(made: LineReport, top: int | None) -> Iterator[str]:
    """Yield a table per function, the first ``top`` functions."""
    shown = made.functions[:top]
    of = f"rank {made.ranks[0]}" if len(made.ranks) == 1 else f"ranks {spans(made.ranks)}, summed"
    some = f", {counted(len(shown), 'function')} with most time of {len(made.functions)}"
    yield f"source lines, {of}, whole recording{some if len(shown) < len(made.functions) else ''}"
    yield "the time of a line includes the functions that it calls, and ends at the next line of the same call"
    if made.not_recorded:
        yield f"{counted(made.not_recorded, 'execution')} not recorded: no room; use a larger max_mb"
    for function in shown:
        yield ""
        yield printable(f"{function.file}:{function.line} {function.name}   {seconds(function.time_ns)}")
        head = "line", "hits", "time", "share", "source"
        yield from aligned([head, *_rows(function)], ">>>>")


def _rows(function: LinesOfFunction) -> Iterator[tuple[str, ...]]:
    for row in function.lines:
        share = f"{100 * row.time_ns / function.time_ns:.1f} %" if function.time_ns else ""
        text = "(the file is missing or has changed)" if row.text is None else printable(row.text.expandtabs(4))
        yield str(row.line), grouped(row.hits), seconds(row.time_ns), share, text
