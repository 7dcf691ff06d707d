"""``report --shapes`` as text."""

from collections.abc import Iterator

from rich.table import Table
from rich.text import Text

from fastdispatch.report.report_shapes import Change, ShapeReport, ShapeRow
from fastdispatch.report.terminal import left_out, section, share, table
from fastdispatch.text.formats import counted, grouped, printable

#: Operands of a row, ranks, recompilations that are printed.
_SHOWN = 3


def sentence(report: ShapeReport) -> str:
    """Return the first line: shapes of the forward pass, and the size that changes most."""
    steps = f"in {counted(report.steps, 'measured step')}" if report.steps else "in the recording"
    if report.ranks > 1:
        steps += f" of {counted(report.ranks, 'rank')}"
    first = report.first
    if first is None:
        return f"No operator of the forward pass was measured {steps}"
    if first.shapes <= 1 and not first.beyond:
        return f"Each operator of the forward pass saw one shape {steps}"
    bound = "more than " if first.beyond else ""
    line = f"The forward pass saw {bound}{first.shapes} shapes {steps}: {first.operator} in {first.where}"
    return line + (f", {_change(first.changes[0])}" if first.changes else "")


def _change(change: Change) -> str:
    return f"dimension {change.dimension} of operand {change.operand} is {change.least}..{change.most}"


def parts(report: ShapeReport) -> Iterator[Text | Table]:
    yield Text(printable(sentence(report)), style="bold")
    line = f"{grouped(report.changing)} of {counted(report.operators, 'call path')} of operators have several shapes"
    if report.beyond:
        line += f"; {counted(report.beyond, 'call')} with further shapes, of which a path lists 1 024"
    yield Text(line, style="dim")
    if report.rows:
        yield Text("")
        yield _listing(report)
    yield from left_out(report.more, report.inside, "operator", "inside others")
    if report.padding:
        yield from section("padding", _padding(report))
    if report.unequal:
        paths = counted(len(report.unequal), "call path")
        yield from section(f"elements per call differ between ranks: {paths}", _unequal(report))
    if report.recompilations:
        guards = counted(len(report.recompilations), "guard")
        yield from section(f"recompiled for other sizes: {guards}", _recompilations(report))


def _listing(report: ShapeReport) -> Table:
    columns = ("shapes", "calls", "operator", "module", "where", "changes", "operands")
    rows = []
    for row in report.rows:
        shapes = ("> " if row.beyond else "") + str(row.shapes)
        where = row.where if row.work == "forward" else f"{row.where} ({row.work})"
        changes = [f"{each.operand}:{each.dimension} {each.least}..{each.most}" for each in row.changes[:_SHOWN]]
        rows.append((shapes, grouped(row.calls), row.operator, row.module, where, ", ".join(changes), _operands(row)))
    return table(columns, rows, columns[2:])


def _operands(row: ShapeRow) -> str:
    shown = [f"{each.operands} ({grouped(each.calls)})" for each in row.operands[:_SHOWN]]
    if len(row.operands) > _SHOWN:
        shown.append(f"{len(row.operands) - _SHOWN} more")
    return "; ".join(shown)


def _padding(report: ShapeReport) -> Table:
    rows = []
    for each in report.padding:
        added = share(each.made - each.kept, each.made)
        rows.append((added, grouped(each.made), grouped(each.calls), each.operator, each.where))
    return table(("share", "elements", "calls", "operator", "where"), rows, ("operator", "where"))


def _unequal(report: ShapeReport) -> Table:
    rows = []
    for each in report.unequal[:_SHOWN]:
        ends = (each.least, each.least_rank), (each.most, each.most_rank)
        rows.append((*(f"{grouped(round(value))} (rank {rank})" for value, rank in ends), each.operator, each.where))
    return table(("least", "most", "operator", "where"), rows, ("operator", "where"))


def _recompilations(report: ShapeReport) -> Table:
    rows = [(grouped(each.count), str(each.rank), each.function, each.guard) for each in report.recompilations[:_SHOWN]]
    return table(("times", "rank", "function", "guard"), rows, ("function", "guard"))
