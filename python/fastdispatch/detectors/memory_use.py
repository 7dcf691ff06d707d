"""Growth of the memory of a process over its steps, by the recorded memory at ends of steps."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from fastdispatch.detectors import limits


@dataclass(frozen=True)
class Growth:
    """Memory that each step keeps, of one rank; ``first`` and ``last`` are bytes at the ends of two steps."""

    rank: int
    first: int
    last: int
    steps: int  # between the two

    @property
    def per_step(self) -> int:
        return (self.last - self.first) // self.steps


def has_memory(rank: dict[str, Any]) -> bool:
    """Return whether the memory of a rank was recorded, for enough steps."""
    points = _points(rank)
    return len(points) >= 3 and points[-1][0] >= limits.GROWTH_STEPS


def growth(rank: dict[str, Any]) -> Growth | None:
    """Return how the memory of a rank grew in the last three quarters of its steps; None if one of these quarters grew
    much less than their mean: a cache fills, pages return after the system reclaimed them, a leak goes on."""
    points = _points(rank)
    last, end = points[-1]
    quarters = [
        max((point for point in points if point[0] <= last * part / 4), default=points[0]) for part in (1, 2, 3, 4)
    ]
    first, begin = quarters[0]
    if any(later[0] <= earlier[0] for earlier, later in pairwise(quarters)):
        return None
    mean = (end - begin) / (last - first)
    rates = [(after[1] - before[1]) / (after[0] - before[0]) for before, after in pairwise(quarters)]
    if mean < limits.MEMORY_STEP or min(rates) < limits.MEMORY_STEADY * mean:
        return None
    if end - begin < max(limits.MEMORY_RESIDENT, limits.MEMORY_SHARE * begin):
        return None
    return Growth(rank["rank"], begin, end, last - first)


def _points(rank: dict[str, Any]) -> list[tuple[int, int]]:
    """Return ended steps and bytes at ends of steps, without unknown ones."""
    marks = rank["marks"]
    return [point for point in zip(marks["steps"], marks["memory"], strict=True) if point[1]]
