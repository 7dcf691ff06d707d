"""Findings: causes of slow training, each with place, evidence and remedy."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Annotated, Any, Literal

from fastdispatch.text.formats import Count, printable

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
        from fastdispatch.detectors.text import lines

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
