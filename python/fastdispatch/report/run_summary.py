"""The summary of a run: one flat dict of figures for trackers and metrics (docs/formats/summary.md)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from fastdispatch._core import ArgumentError
from fastdispatch.detectors import Findings, findings
from fastdispatch.read.trace import Trace
from fastdispatch.report.report_facts import Facts, facts

SCHEMA = "fastdispatch-summary/1"

#: Beginning of each key: trackers show the figures as one group.
PREFIX = "fastdispatch/"

SEVERITIES = ("critical", "warning", "info")

#: The value of ``first_finding`` without findings.
NO_FINDING = "none"

Summary = dict[str, int | float | str]


def run_summary(trace: Trace, peak_flops: float | None = None) -> Summary:
    """Return the figures of a run; those that the recording does not have are absent. ``peak_flops``: FLOP/s of one
    device, for the model FLOPs utilisation. Raises ArgumentError if it is not positive."""
    if peak_flops is not None and not 0 < peak_flops < float("inf"):
        raise ArgumentError(f"peak_flops={peak_flops}: give the FLOP/s of one device, a positive number")
    about = facts(trace, None)
    figures: Summary = {"schema": SCHEMA}
    figures |= _ranks(about)
    figures |= _step(about)
    figures |= _findings(findings(trace))
    figures |= _cost(about)
    figures |= _flops(trace.ranks, peak_flops)
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
    """The cost of recording as a share of the recorded time, of ranks with a calibrated cost."""
    figures: Summary = {"dropped": sum(sum(rank.dropped.values()) for rank in about.ranks)}
    known = [(rank.overhead, rank.recorded) for rank in about.ranks if rank.overhead is not None and rank.recorded]
    if known:
        figures["cost_share"] = min(sum(cost for cost, _ in known) / sum(time for _, time in known), 1.0)
    return figures


def _flops(ranks: Iterable[Mapping[str, Any]], peak_flops: float | None) -> Summary:
    """FLOPs of measured steps, the mean of the ranks (docs/concepts/measures.md)."""
    steps = time = flops = 0
    for rank in ranks:
        rows = rank["measures"]
        for kind, count, sum_ in zip(rows["kind"], rows["count"], rows["sum"], strict=True):
            steps += count if kind == "steps" else 0
            time += sum_ if kind == "steps" else 0
            flops += sum_ if kind == "flops" else 0
    if not steps or not time:
        return {}
    figures: Summary = {"flops_per_step": flops / steps, "flops_per_second": flops * 1e9 / time}
    if peak_flops is not None:
        figures["mfu"] = flops * 1e9 / time / peak_flops
    return figures
