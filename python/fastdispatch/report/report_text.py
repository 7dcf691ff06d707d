"""Reports as text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from io import StringIO
from textwrap import fill
from typing import IO, TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from fastdispatch.detectors.model import first_lines
from fastdispatch.report.compiler_text import origin_text
from fastdispatch.report.report_find import Neighbour, Neighbours
from fastdispatch.report.report_lines import foot, head, hidden_line, scale
from fastdispatch.report.report_paths import HotPath, Paths
from fastdispatch.report.report_rows import ReportRow
from fastdispatch.report.report_tree import Branch
from fastdispatch.report.terminal import ENDLESS, print_parts, table, width_of
from fastdispatch.text.formats import counted, grouped, in_flop, printable, rounded_share, seconds, size
from fastdispatch.text.kernel_names import short_kernel_name, short_kernel_names
from fastdispatch.text.notebook_html import html_of

if TYPE_CHECKING:
    from fastdispatch.report.report_model import Report

_UNIT = re.compile(r"(?<=\d) (?=%|[mun]?s\b|[kMGT]?B\b)")
_NARROWEST = 24
_NOTEBOOK = 130  # columns of a notebook's cell
_ROUNDED = 1.001  # sums of rounded times
_WIDEST = 140  # columns of a terminal with room for the resumes of generators


def print_report(report: Report, file: IO[str], *, times: bool) -> None:
    """Print a report with shares, or with ``times``."""
    drawing = _Drawing(report, width_of(file), times and report.timing)
    print_parts(drawing.parts(), file, ENDLESS)  # long lines have been folded


def text_of(report: Report) -> str:
    """Return a report as text of an endless width, with shares."""
    file = StringIO()
    print_parts(_Drawing(report, ENDLESS, False).parts(), file, ENDLESS)
    return file.getvalue()


def html_of_report(report: Report) -> str:
    """Return a report as HTML of a notebook's cell."""
    return html_of(_Drawing(report, _NOTEBOOK, False).parts())


#: The title of a column, and its cells.
_Column = tuple[str, list[str]]

_OF_GPU = {"GPU self": "gpu_self", "GPU total": "gpu_total", "GPU backward": "gpu_backward", "GPU idle": "gpu_starved"}


class _Drawing:
    def __init__(self, report: Report, width: int, times: bool) -> None:
        self.report = report
        self.width = width
        self.times = times
        self.gap = 3 if width >= 100 else 2

    def parts(self) -> Iterator[Text | Table]:
        yield from (self.sentence(line, "dim") for line in head(self.report))
        if self.report.listing is not None:
            yield from map(self.sentence, first_lines(self.report.findings, self.report.path))
        yield from (self.sentence(line, "dim") for line in scale(self.report))
        if self.report.listing is not None:
            yield self.listing(self.report.listing.rows)
            yield from map(self.sentence, hidden_line(self.report))
        elif self.report.tree is not None:
            yield self.tree(self.report.tree)
        elif self.report.paths is not None:
            yield self.sentence(_share_of(self.report.paths))
            yield self.paths(self.report.paths)
        elif self.report.neighbours is not None:
            yield self.neighbours(self.report.neighbours)
        yield from map(self.sentence, foot(self.report))

    def sentence(self, line: str, style: str = "") -> Text:
        under = " " * (len(line) - len(line.lstrip()) + 2)
        kept = _UNIT.sub("\xa0", printable(line))  # a number stays with its unit
        folded = fill(kept, self.width, subsequent_indent=under, break_long_words=False, break_on_hyphens=False)
        return Text(folded.replace("\xa0", " "), style=style)

    def listing(self, rows: Sequence[ReportRow]) -> Table:
        options, by = self.report.options, self.report.options.by
        figures = self.calls(rows)
        if by != "kernel":
            figures.append(_column("ops", rows, "ops", grouped))
        if self.report.timing and by != "kernel":
            figures.append(_column("self", rows, "self", self.time))
            if by != "phase":
                figures.append(_column("total", rows, "total", self.time))
            if self.report.facts.backward.autograd > 0 and by not in ("package", "phase"):
                figures.append(_column("backward", rows, "backward", self.time))
            of_steps, wide = options.sort == "spread" or by == "phase", self.width >= 110
            if sum(rank.steps for rank in self.report.facts.ranks) > 1:
                figures += [_column("per step", rows, "step_mean", seconds)] * (of_steps or (self.times and wide))
                figures += [_column("spread", rows, "step_deviation", seconds)] * (of_steps or wide)
        # GPU figures are of sampled steps: times, not shares of all steps.
        found = [_column(name, rows, field, seconds) for name, field in _OF_GPU.items()]
        found.append(_column("FLOP", rows, "flops", lambda number: in_flop(number, "")))
        if options.sort == "bytes" or self.width >= _WIDEST:
            found.append(_column("operands", rows, "bytes", _bytes))
        found += [_column("comm", rows, "communicated", _bytes), _column("allocated", rows, "allocated", _bytes)]
        found.append(_column("parameters", rows, "parameters", grouped))
        found.append(("bytes", [size(row.parameter_bytes) if row.parameters else "" for row in rows]))
        found.append(_column("unseen", rows, "unseen_calls", grouped))
        wheres = [row.where for row in rows]
        wheres = short_kernel_names(wheres) if by == "kernel" else wheres
        labels = [self.where(text, self.suffix(row)) for text, row in zip(wheres, rows, strict=True)]
        return self.table([*figures, *_filled(found)], labels)

    def tree(self, rows: Sequence[Branch]) -> Table:
        figures = self.calls(rows)
        if self.report.timing:
            figures += [_column("self", rows, "self", self.time), _column("total", rows, "total", self.time)]
            figures += _filled([_column("backward", rows, "backward", self.time)])
        figures += _filled([_column("GPU total", rows, "gpu_total", seconds)])
        labels = []
        for row in rows:
            where = short_kernel_name(row.where) if row.kind == "kernel" else row.where
            labels.append(self.where(where, origin_text(row.origin) or _instances(row.module, row.instances)))
        return self.table(figures, labels, _guides(rows))

    def neighbours(self, found: Neighbours) -> Table:
        rows: list[ReportRow | Neighbour] = [found.of, *found.rows]
        figures = [("calls", [grouped(row.calls) for row in rows])]
        if self.report.timing:
            figures.append(_column("total", rows, "total", self.time))
        arrow = "  called by " if found.side == "callers" else "  calls "
        where = [self.where(found.of.where, self.suffix(found.of))]
        where += [self.where(row.where, _through(len(row.through))) for row in found.rows]
        return self.table(figures, where, ["", *(arrow for _ in found.rows)])

    def paths(self, found: Paths) -> Table:
        rows = found.rows
        figures = [("share", [f"{100 * row.weight / max(found.whole, 1):.1f} %" for row in rows])]
        if found.of == "gpu":
            figures.append(("GPU self", [seconds(row.gpu) for row in rows]))
        if self.report.timing:
            figures.append(("self", [seconds(row.self) for row in rows]))
        figures.append(("calls", [grouped(row.calls) for row in rows]))
        return self.table(figures, [self.path(row) for row in rows])

    def path(self, row: HotPath) -> Text:
        """Return short names, the last one in full."""
        above = "".join(f"{name} > " for name in [*row.short[:-1], *([row.within] if row.within else [])])
        text = Text(printable(above), style="dim")
        text.append_text(self.where(row.path[-1], _instances(row.module, row.instances)))
        return text

    def table(self, figures: list[_Column], where: list[Text], guides: list[str] | None = None) -> Table:
        """Return a table: figures keep their width, ``where`` is folded into the rest."""
        used = sum(max(map(len, [name, *values])) + self.gap for name, values in figures)
        room = max(self.width - used, _NARROWEST)
        folded = [_fold(guide, text, room) for guide, text in zip(guides or [""] * len(where), where, strict=True)]
        cells = zip(*(values for _, values in figures), folded, strict=True)
        return table([*(name for name, _ in figures), "where"], list(cells), ("where",), gap=self.gap)

    def calls(self, rows: Sequence[ReportRow] | Sequence[Branch]) -> list[_Column]:
        figures = [("calls", [grouped(row.calls) for row in rows])]
        return figures + _filled([_column("resumes", rows, "resumes", grouped)] * (self.width >= _WIDEST))

    def time(self, nanoseconds: int) -> str:
        if nanoseconds <= 0:
            return ""
        whole = self.report.facts.whole
        if self.times or nanoseconds > _ROUNDED * whole:  # of several threads at once
            return seconds(nanoseconds)
        return rounded_share(min(nanoseconds / whole, 1.0))

    def suffix(self, row: ReportRow) -> str:
        """Return what a kernel computes, or the modules of a function, their number, and other threads."""
        if self.report.options.by == "module":
            return f"x {row.instances}" if row.instances > 1 else ""
        words = origin_text(row.origin)
        if len(row.modules) == 1:
            words = _instances(row.modules[0].pattern, row.modules[0].instances)
        elif row.modules:
            words = f"{sum(each.instances for each in row.modules)} modules"
        if row.threads and self.report.facts.whole_role not in row.threads:
            words += "   in " if words else "in "
            words += row.threads[0] if len(row.threads) == 1 else f"{len(row.threads)} other threads"
        return words

    def where(self, key: str, suffix: str) -> Text:
        """Return ``file:[Class]:function``, with the function in bold."""
        text = Text(printable(key))
        at = key.rfind(":") + 1
        if "]:" in key:
            text.stylize("dim", 0, key.find(":["))
            text.stylize("bold", at)
        if suffix:
            text.append("   " + suffix, style="cyan")
        return text


def _column(name: str, rows: Sequence[Any], field: str, form: Callable[[int], str]) -> _Column:
    """Return the column of a field: nothing for 0."""
    return name, [form(value) if (value := getattr(row, field)) else "" for row in rows]


def _filled(columns: Iterable[_Column]) -> list[_Column]:
    return [column for column in columns if any(column[1])]


def _bytes(number: float) -> str:
    return size(round(number))


def _instances(pattern: str, count: int) -> str:
    return f"{pattern} x {count}" if count > 1 else pattern


def _share_of(found: Paths) -> str:
    share = 100 * sum(row.weight for row in found.rows) / max(found.whole, 1)
    paths = "this path" if len(found.rows) == 1 else f"these {len(found.rows)} paths"
    what = {"calls": "calls", "gpu": "GPU time"}.get(found.of, "time")
    return f"{share:.0f} % of the {what} is in {paths}"


def _through(wrappers: int) -> str:
    return f"through {counted(wrappers, 'wrapper')}" if wrappers else ""


def _guides(rows: Sequence[Branch]) -> list[str]:
    """Return the lines of the tree in front of each row, two characters per level."""
    guides = [""] * len(rows)
    open_levels: set[int] = set()  # levels with a later sibling, seen from the end
    for i in range(len(rows) - 1, -1, -1):
        depth = rows[i].depth
        open_levels = {level for level in open_levels if level <= depth}
        lines = ["│ " if level in open_levels else "  " for level in range(1, depth)]
        if depth:
            lines.append("├ " if depth in open_levels else "└ ")
            open_levels.add(depth)
        guides[i] = "".join(lines)
    return guides


def _break(line: str) -> int:
    """Return where to break a full line: after a separator that is not too far to the left, at a dot if necessary."""
    for signs in ("/: ", "._"):
        at = max(line.rfind(sign) for sign in signs) + 1
        if at > len(line) // 3:
            return at
    return len(line)


def _fold(guide: str, text: Text, room: int) -> Text:
    """Return the text in lines that fit, broken after separators, with the guide in front of each."""
    if len(guide) > room - _NARROWEST:  # too deep for this width: drop the lines of outer levels
        guide = "« " + guide[len(guide) - (room - _NARROWEST) + 2 :]
    space = room - len(guide)
    lines = []
    while len(text) > space:
        cut = _break(text.plain[:space])
        lines.append(text[:cut])
        text = text[cut:]
        while text.plain.startswith(" "):
            text = text[1:]
    lines.append(text)
    under = guide.replace("├ ", "│ ").replace("└ ", "  ") if set(guide) <= set("│├└« ") else " " * len(guide)
    fronts = [guide, *([under] * (len(lines) - 1))]
    return Text("\n").join(Text.assemble((front, "dim"), line) for front, line in zip(fronts, lines, strict=True))
