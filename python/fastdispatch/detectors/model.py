"""Findings: causes of slow training, each with place, evidence and remedy, and as text."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from fastdispatch.read.steps import ended_steps, steps_rule
from fastdispatch.read.trace import Trace
from fastdispatch.text.formats import Count, percent, printable, seconds, spans

_ID = {"$ref": "#/$defs/id"}


@dataclass
class Where:
    """The place of a call."""

    key: Annotated[str, "of the function that makes the call"]
    file: Annotated[str, "empty: unknown"] = ""
    line: Annotated[Count, "0: unknown"] = 0
    path: Annotated[list[str], "keys, outermost first"] = field(default_factory=list)
    called_from: Annotated[str, "place in the program that calls a function of a library; empty: its own"] = ""

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.file and self.line else self.key
        return f"{place}, called from your {self.called_from}" if self.called_from else place


@dataclass
class Finding:
    """One cause."""

    id: Annotated[str, _ID]
    title: Annotated[str, "the cause in one sentence"]
    where: Where
    share: Annotated[float, {"minimum": 0, "maximum": 1}, "of the step; with extent, of the run"]
    gain_ns: Annotated[Count, "estimated gain per step"]
    proof: Annotated[str, "the evidence as text"]
    advice: str
    severity: Annotated[str, {"enum": ["critical", "warning", "info"]}] = "info"
    ranks: list[int] = field(default_factory=list)
    steps: Annotated[Count, "steps with the evidence"] = 0
    extent: Annotated[str, "time outside of usual steps, as text; empty: none"] = ""
    evidence: Annotated[dict[str, Any], "figures of this id, docs/guides/findings.md"] = field(default_factory=dict)


@dataclass
class NotDecided:
    """A detector without enough evidence."""

    id: Annotated[str, _ID]
    reason: str


@dataclass
class Findings:
    """The findings of a recording, and what could not be decided (docs/guides/findings.md)."""

    path: str
    step_ns: Annotated[Count, "median of the steps; 0 without steps"]
    steps: Annotated[Count, "steps that the time is derived from, summed over ranks"]
    ranks: Annotated[list[int], "ranks with steps"]
    findings: Annotated[list[Finding], "ordered by gain_ns, largest first"]
    not_decided: list[NotDecided]
    missing: Annotated[str, "a sentence about ranks without a recording or a normal end; empty: none"] = ""
    doubt: Annotated[str, "why the figures are uncertain: few steps, an overloaded machine; empty: they are not"] = ""
    meaning: Annotated[str, "definition of a step if nothing was trained; empty: an update of the model"] = ""
    schema: Literal["fastdispatch-findings/1"] = "fastdispatch-findings/1"

    def __str__(self) -> str:
        return "\n".join(map(printable, lines(self)))

    def _repr_html_(self) -> str | None:
        try:
            from fastdispatch.text.notebook_html import pre
        except ModuleNotFoundError:  # without the extra `view`
            return None
        return pre(str(self).splitlines())

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def __len__(self) -> int:
        return len(self.findings)

    def as_json(self) -> dict[str, Any]:
        """Return the document of ``docs/reference/schemas/findings.schema.json``."""
        return asdict(self)


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
