"""Findings: causes of slow training, each with place, evidence and remedy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

from fastdispatch.text.formats import printable

SCHEMA = "fastdispatch-findings/1"


@dataclass
class Where:
    """The place of a call: key of the function that makes it, its file and line (0: unknown), and the path to it.
    ``called_from``: file and line, or function, of the program that calls this one of a library; empty for its own."""

    key: str
    file: str = ""
    line: int = 0
    path: list[str] = field(default_factory=list)
    called_from: str = ""

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.file and self.line else self.key
        return f"{place}, called from your {self.called_from}" if self.called_from else place


@dataclass
class Finding:
    """One cause. ``share`` is that of the step, ``gain_ns`` the estimated gain per step; ``steps`` the number of steps
    with the evidence, ``proof`` the evidence as text. ``extent``: the time of a cause outside of usual steps, as text;
    ``share`` is then that of the run."""

    id: str
    title: str
    where: Where
    share: float
    gain_ns: int
    proof: str
    advice: str
    severity: str = "info"
    ranks: list[int] = field(default_factory=list)
    steps: int = 0
    extent: str = ""
    evidence: dict[str, Any] = field(default_factory=dict)


@dataclass
class NotDecided:
    """A detector without enough evidence."""

    id: str
    reason: str


@dataclass
class Findings:
    """The findings of a recording by estimated gain, and what could not be decided. ``step_ns`` is the time of a step,
    ``steps`` the number of steps that it was derived from, ``missing`` a sentence about ranks without a recording,
    ``doubt`` one about figures of few steps or of an overloaded machine."""

    path: str
    step_ns: int
    steps: int
    ranks: list[int]
    findings: list[Finding]
    not_decided: list[NotDecided]
    missing: str = ""
    doubt: str = ""

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
        return {"schema": SCHEMA, **asdict(self)}
