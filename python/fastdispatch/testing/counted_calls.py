"""The counts of a recorded test: operators, synchronizations, recompilations and graph breaks."""

from collections.abc import Iterator
from functools import cached_property
from typing import Any

from fastdispatch.detectors.host_sync import reads_of_program
from fastdispatch.detectors.measured_steps import MeasuredSteps
from fastdispatch.read.compilations import compilations
from fastdispatch.read.trace import Trace


class CountedCalls:
    """The counts of one recording. Times play no role."""

    def __init__(self, trace: Trace, function: str) -> None:
        """``function``: the name of the test, at which paths begin."""
        self.trace = trace
        self.function = function
        self.steps = MeasuredSteps(trace)

    @cached_property
    def operators(self) -> dict[str, int]:
        """The number of calls of each operator, also of those that operators call."""
        table = self.trace.table("operator")
        return dict(zip(table["where"], table["calls"], strict=True))

    @cached_property
    def synchronizations(self) -> list[tuple[str, int]]:
        """Paths to operators whose value the program reads, with their calls."""
        return [(self.path(row), self.steps.paths["calls"][row]) for row in reads_of_program(self.steps)]

    @property
    def recompilations(self) -> list[dict[str, Any]]:
        return [row for fact in compilations(self.trace) for row in fact["recompilations"]]

    @property
    def graph_breaks(self) -> list[dict[str, Any]]:
        return [row for fact in compilations(self.trace) for row in fact["graph_breaks"]]

    @property
    def versions(self) -> dict[str, str]:
        """What the number of operators depends on besides the program."""
        meta = self.trace.meta
        return {"torch": str(meta.get("torch", "")), "ops": str(meta.get("ops", ""))}

    def path(self, row: int) -> str:
        """The functions of the program from the test to a call, and the call."""
        rows = [row, *(above for above in self.steps.above(row) if self.steps.is_user(above))]
        names = [self.steps.key(each) for each in rows]
        for index, each in enumerate(rows):
            if self.steps.name(each) == self.function:
                names = names[: index + 1]
                break
        return " -> ".join(reversed(names))

    def heaviest(self, wanted: set[str]) -> tuple[str, int]:
        """The innermost function of the program with at least half of the calls of these operators below it, and their
        number."""
        below = [0] * len(self.steps.paths["node"])
        for row in range(len(below) - 1, -1, -1):
            if self.steps.kind(row) == "op" and self.steps.key(row) in wanted:
                below[row] += self.steps.paths["calls"][row]
            parent = self.steps.paths["parent"][row]
            if parent >= 0:
                below[parent] += below[row]
        half = (sum(self.operators.get(name, 0) for name in wanted) + 1) // 2
        users = [row for row, count in enumerate(below) if count >= half and self.steps.is_user(row)]
        return (self.path(users[-1]), below[users[-1]]) if users else ("", 0)


def total(counts: list[CountedCalls]) -> dict[str, int]:
    """The calls of operators of all recordings of a test."""
    found: dict[str, int] = {}
    for each in counts:
        for name, calls in each.operators.items():
            found[name] = found.get(name, 0) + calls
    return dict(sorted(found.items()))


def place(counts: list[CountedCalls], wanted: set[str]) -> str:
    """A clause that names the function with most calls of these operators; "" without any."""
    found = [each for one in counts if (each := one.heaviest(wanted))[0]]
    if not found:
        return ""
    path, calls = max(found, key=lambda each: each[1])
    return f", {calls} below {path}"


def synchronizations(counts: list[CountedCalls]) -> Iterator[tuple[str, int]]:
    for each in counts:
        yield from each.synchronizations
