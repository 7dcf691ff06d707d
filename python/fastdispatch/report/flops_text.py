"""``report --flops`` as text."""

from collections.abc import Iterator

from rich.table import Table
from rich.text import Text

from fastdispatch.report.report_flops import FlopReport, UnknownRow
from fastdispatch.report.terminal import left_out, section, table
from fastdispatch.text.formats import counted, grouped, in_flop, printable, rounded_share, seconds, size


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


def parts(report: FlopReport) -> Iterator[Text | Table]:
    total = report.total
    yield Text(printable(sentence(report)), style="bold")
    parts = [f"{name} {in_flop(value)}" for name in _PASSES if (value := getattr(total, name))]
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
    yield from left_out(report.more, report.hidden, "library function", "without operators")
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


_PASSES = ("forward", "backward", "recomputed", "optimizer")

#: Figures of the table that may be missing in all rows.
_FIGURES = {"FLOP": "flops", "self": "own"} | {name: name for name in _PASSES} | {"element-wise": "elementwise"}


def _listing(report: FlopReport) -> Table:
    shown = {name: field for name, field in _FIGURES.items() if any(getattr(row, field) for row in report.rows)}
    rated = any(row.rate is not None for row in report.rows)
    of_peak = any(row.of_peak for row in report.rows)
    whole = report.total.flops
    rows = []
    for row in report.rows:
        cells = [rounded_share(row.flops / whole) if whole else ""]
        cells += [in_flop(value) if (value := getattr(row, field)) else "" for field in shown.values()]
        cells.append("" if row.intensity is None else f"{row.intensity:.3g}")
        cells += [in_flop(row.rate, "FLOP/s") if row.rate else ""] if rated else []
        cells += ["" if row.of_peak is None else _percent(row.of_peak)] if of_peak else []
        rows.append([*cells, grouped(round(row.calls)) if row.calls else "", row.where])
    names = ["share", *shown, "FLOP/B", *(["rate"] if rated else []), *(["of peak"] if of_peak else [])]
    return table([*names, "calls", "where"], rows, ("where",))
