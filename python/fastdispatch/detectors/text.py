"""Findings as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from fastdispatch.read.steps import ended_steps, steps_rule
from fastdispatch.text.formats import percent, seconds, spans

if TYPE_CHECKING:
    from fastdispatch.detectors.model import Finding, Findings
    from fastdispatch.read.trace import Trace

_LAST_RUN = "fastdispatch-out"

#: Undecided detectors that are listed for one reason.
_LISTED = 12

#: Findings in a report and at the end of a run.
SHOWN = 3


def lines(found: Findings) -> Iterator[str]:
    """Yield the step time, the findings, and the undecided detectors."""
    yield step_line(found)
    yield from filter(None, [found.missing, found.doubt])
    yield ""
    for number, finding in enumerate(found.findings, 1):
        yield f"{number}. {sentence(finding)}"
        yield f"   evidence: {finding.proof}"
        yield f"   to do: {finding.advice}"
        yield ""
    if not found.findings:
        yield "nothing was found" if found.steps else "nothing was found, since no step was recorded"
        yield ""
    reasons: dict[str, list[str]] = {}
    for each in found.not_decided:
        reasons.setdefault(each.reason, []).append(each.id)
    for reason, ids in reasons.items():
        distinct = dict.fromkeys(ids)
        listed = f"{len(distinct)} detectors" if len(distinct) > _LISTED else ", ".join(distinct)
        yield f"not decided: {listed} ({reason})"


def step_line(found: Findings) -> str:
    name = f"{found.path}: " if found.path else ""
    if not found.steps:
        return f"{name}no training step was recorded"
    if found.meaning:
        return f"{name}{found.meaning}; it takes {seconds(found.step_ns)} (mean of {found.steps})"
    ranks = f"rank{'s' if len(found.ranks) > 1 else ''} {spans(sorted(found.ranks))}"
    return f"{name}a step takes {seconds(found.step_ns)} (median of {found.steps} steps of {ranks})"


def sentence(finding: Finding) -> str:
    """Return what and where in one sentence."""
    gain = f", {percent(finding.share)} of a step" if finding.share >= 0.0005 else ""
    gain = f", {finding.extent}" if finding.extent else gain
    return f"{finding.severity}: {finding.title}, at {finding.where} [{finding.id}{gain}]"


def first_lines(found: Sequence[Finding], path: str) -> Iterator[str]:
    """Yield the first findings of a recording, and how many more there are."""
    place = path.rpartition("/")[0] or "." if path.endswith(".fd") and not Path(path).is_dir() else path
    for number, finding in enumerate(found[:SHOWN], 1):
        yield f"{number}. {sentence(finding)}"
    if found:
        more = f"{len(found) - SHOWN} more findings, " if len(found) > SHOWN else ""
        yield f"{more}evidence and what to do: fastdispatch findings{'' if place == _LAST_RUN else f' {place}'}"
        yield ""


def closing_lines(trace: Trace, found: Findings) -> Iterator[str]:
    """Yield the verdict at the end of a run: ranks that an exception ended, the step time, and the first findings."""
    if found.missing:
        yield found.missing
    rule = next((steps_rule(rank) for rank in trace.ranks), "")
    if rule and not any(map(ended_steps, trace.ranks)):
        yield f"no steps found ({rule})"
    if found.steps:
        yield step_line(replace(found, path=""))
    yield from filter(None, [found.doubt])
    yield from filter(None, first_lines(found.findings, found.path))
