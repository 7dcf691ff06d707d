"""The summary of a run: one flat dict of figures for trackers and metrics (docs/formats/summary.md)."""

from fastdispatch._core import ArgumentError
from fastdispatch.detectors import Findings, findings
from fastdispatch.measures.flops import has_flops
from fastdispatch.measures.peaks import DTYPES, is_peak
from fastdispatch.read.trace import Trace
from fastdispatch.report.report_facts import Facts, facts
from fastdispatch.report.report_flops import flop_report

SCHEMA = "fastdispatch-summary/1"

#: Beginning of each key: trackers show the figures as one group.
PREFIX = "fastdispatch/"

SEVERITIES = ("critical", "warning", "info")

#: The value of ``first_finding`` without findings.
NO_FINDING = "none"

Summary = dict[str, int | float | str]


def run_summary(trace: Trace, peak: float | str | None = None) -> Summary:
    """Return the figures of a run; those that the recording does not have are absent. ``peak``: as ``--peak``, for
    model and hardware FLOPs utilization. Raises ArgumentError for another value."""
    if peak is not None and not is_peak(str(peak)):
        raise ArgumentError(f"peak={peak!r}: give FLOP/s of one device, a dtype of {', '.join(DTYPES)}, or 'measure'")
    about = facts(trace, None)
    figures: Summary = {"schema": SCHEMA} | _ranks(about) | _step(about) | _findings(findings(trace)) | _cost(about)
    figures |= _flops(trace, None if peak is None else str(peak))
    return {PREFIX + name: value for name, value in figures.items()}


def _ranks(about: Facts) -> Summary:
    reduced = about.reduced
    if reduced is not None:
        count = sum(last - first + 1 for first, last in reduced["ranks"])
        return {
            "ranks": count,
            "world": reduced["world"],
            "ranks_incomplete": reduced["incomplete"][0],
            "steps": reduced["ended"][1],
        }
    return {
        "ranks": len(about.ranks),
        "world": max((rank.world for rank in about.ranks), default=0),
        "ranks_incomplete": sum(not rank.complete for rank in about.ranks),
        "steps": max((rank.steps for rank in about.ranks), default=0),
    }


def _step(about: Facts) -> Summary:
    found: Summary = {"steps_measured": about.step_count}
    if not about.step:
        return found
    found |= {
        "step_seconds": about.step / 1e9,
        "step_low_seconds": about.step_low / 1e9,
        "step_high_seconds": about.step_high / 1e9,
        "step_spread": (about.step_high - about.step_low) / about.step,
    }
    return found | {f"share_{phase.phase}": phase.per_step / about.step for phase in about.phases}


def _findings(found: Findings) -> Summary:
    figures: Summary = {"findings": len(found)}
    for severity in SEVERITIES:
        figures[f"findings_{severity}"] = sum(each.severity == severity for each in found)
    figures["not_decided"] = len(found.not_decided)
    figures["first_finding"] = NO_FINDING
    for first in found.findings[:1]:
        figures["first_finding"] = first.id
        figures["first_finding_share"] = first.share
        figures["first_finding_gain_seconds"] = first.gain_ns / 1e9
    return figures


def _cost(about: Facts) -> Summary:
    """The cost of recording as a share of the time of the run, if it was measured."""
    figures: Summary = {"dropped": sum(sum(rank.dropped.values()) for rank in about.ranks)}
    share = about.recording_cost.share
    return figures if share is None else figures | {"cost_share": share}


def _flops(trace: Trace, peak: str | None) -> Summary:
    """FLOPs per step and rank, as ``report --flops`` shows them."""
    if not has_flops(trace.ranks):
        return {}
    made = flop_report(trace, by="operator", rank=None, sort="total", top=0, hide=False, peak=peak)
    if not made.steps:
        return {}
    figures: Summary = {"flops_per_step": made.total.flops, "flops_per_second": made.rate}
    if made.mfu is not None and made.hfu is not None:
        figures |= {"mfu": made.mfu, "hfu": made.hfu}
    return figures
