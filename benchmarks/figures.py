"""A figure: a number, its spread, and the bar it is held against."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median

FORMAT, VERSION = "fastdispatch.benchmarks", 1


@dataclass(frozen=True)
class Figure:
    """One line of the table. Every bar is an upper bound; ``bar`` None: for orientation."""

    name: str
    value: float  # median over the rounds
    low: float
    high: float
    unit: str  # "x" (a ratio), "ns", "ms", "MB", "count"
    bar: float | None = None
    rounds: int = 1
    note: str = ""

    @property
    def met(self) -> bool | None:
        return None if self.bar is None else self.value <= self.bar


@dataclass
class Result:
    """What one subject measured, and what it could not."""

    figures: list[Figure] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)  # one line each: what and why

    def add(self, name: str, values: Sequence[float], unit: str, bar: float | None = None, note: str = "") -> None:
        """A figure whose value is the median of ``values``, one per round."""
        self.figures.append(Figure(name, median(values), min(values), max(values), unit, bar, len(values), note))

    def skip(self, what: str, why: str) -> None:
        self.skipped.append(f"{what}: {why}")

    def to_json(self) -> dict[str, object]:
        return {"figures": [asdict(each) | {"met": each.met} for each in self.figures], "skipped": self.skipped}


def from_json(data: dict[str, list]) -> Result:
    """The reverse of ``Result.to_json``."""
    figures = [Figure(**{key: value for key, value in each.items() if key != "met"}) for each in data["figures"]]
    return Result(figures, list(data["skipped"]))


def write(path: Path, machine: dict[str, object], command: Sequence[str], results: dict[str, Result]) -> None:
    """Everything of one run as one file."""
    subjects = {name: result.to_json() for name, result in results.items()}
    document = {"format": FORMAT, "version": VERSION, "machine": machine, "command": command, "subjects": subjects}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=1) + "\n")
