"""``report --flops`` as text."""

from collections.abc import Iterator
from typing import IO

from rich.table import Table
from rich.text import Text

from fastdispatch.report.report_flops import FlopReport, FlopRow, UnknownRow
from fastdispatch.report.terminal import ENDLESS, print_parts, section, table, width_of
from fastdispatch.text.formats import counted, grouped, in_flop, printable, rounded_share, seconds, size


def print_flops(report: FlopReport, file: IO[str]) -> None:
    print_parts(_parts(report), file, min(max(width_of(file), 60), ENDLESS))


def sentence(report: FlopReport) -> str:
    """Return the first line: FLOPs per step, the rate and its share of the peak."""
    of = "in the recording, which has no steps" if not report.steps else "per step"
    if report.ranks > 1:
        of += " and rank"
    line = f"{in_flop(report.total.flops)} {of}, {in_flop(report.rate, 'FLOP/s')}"
    utilized = utilization(report)
    return f"{line}, {utilized}" if utilized else line


def utilization(report: FlopReport) -> str:
    """Return model and hardware FLOPs utilization; empty without a peak."""
    if report.peak is None or report.mfu is None or report.hfu is None:
        return ""
    least = "at least " if report.at_least else ""
    peak = f"{in_flop(report.peak.rate, 'FLOP/s')} ({report.peak.source})"
    return f"MFU {least}{_percent(report.mfu)} of {peak}, HFU {least}{_percent(report.hfu)}"


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def _parts(report: FlopReport) -> Iterator[Text | Table]:
    total = report.total
    yield Text(printable(sentence(report)), style="bold")
    parts = [
        f"{name} {in_flop(value)}"
        for name in ("forward", "backward", "recomputed", "optimizer")
        if (value := getattr(total, name))
    ]
    if total.elementwise:
        parts.append(f"not included: element-wise operators {in_flop(total.elementwise)}")
    yield Text("; ".join(filter(None, [", ".join(parts), _steps(report)])), style="dim")
    if report.not_counted:
        yield Text(f"not counted: {'; '.join(report.not_counted)}")
    if report.without_peak:
        yield Text(f"not in MFU and HFU, because the peak is not decided: {', '.join(report.without_peak)}")
    if report.peak is None:
        yield Text("for MFU and HFU: --peak FLOP/s, a dtype of the recorded GPU, or measure", style="dim")
    yield Text("")
    yield _listing(report)
    left = [f"{report.more} more rows (--top N)"] if report.more else []
    left += [f"hidden: {counted(report.hidden, 'library function')} without operators (--all)"] if report.hidden else []
    if left:
        yield Text("   ".join(left))
    if report.unknown:
        rows = [(f"{each.calls:.4g}", size(round(each.bytes)), each.operator, _reason(each)) for each in report.unknown]
        columns = ("calls", "input", "operator", "")
        yield from section("operators that are not counted, per step", table(columns, rows, columns[2:]))


def _reason(row: UnknownRow) -> str:
    if row.failed:
        return f"formula: {row.failed}"
    return f"{row.beyond:.4g} calls: more shapes than a call path lists" if row.beyond else ""


def _steps(report: FlopReport) -> str:
    if not report.steps:
        return ""
    return f"mean of {counted(report.steps, 'measured step')}, a step of {seconds(report.step)} (median)"


def _listing(report: FlopReport) -> Table:
    columns = ["share", "FLOP", "self", "forward", "backward", "recomputed", "optimizer", "element-wise"]
    fields = ["", "flops", "own", "forward", "backward", "recomputed", "optimizer", "elementwise"]
    shown = [i for i, name in enumerate(fields) if not name or any(getattr(row, name) for row in report.rows)]
    rated = any(row.rate is not None for row in report.rows)
    of_peak = any(row.of_peak for row in report.rows)
    whole = report.total.flops
    rows = []
    for row in report.rows:
        cells = [rounded_share(row.flops / whole) if whole else "", *(_cell(row, fields[i]) for i in shown[1:])]
        cells.append("" if row.intensity is None else f"{row.intensity:.3g}")
        cells += [in_flop(row.rate, "FLOP/s") if row.rate else ""] if rated else []
        cells += ["" if row.of_peak is None else _percent(row.of_peak)] if of_peak else []
        rows.append([*cells, grouped(round(row.calls)) if row.calls else "", row.where])
    names = [columns[i] for i in shown] + ["FLOP/B"] + (["rate"] if rated else [])
    names += (["of peak"] if of_peak else []) + ["calls", "where"]
    return table(names, rows, ("where",))


def _cell(row: FlopRow, name: str) -> str:
    value = getattr(row, name)
    return in_flop(value) if value else ""
