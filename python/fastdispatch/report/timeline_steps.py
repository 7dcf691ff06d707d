"""Steps of a rank: those of the host, the work that was launched in them, or those annotated on streams."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastdispatch.report.spans import Ints


@dataclass
class _Step:
    number: int
    start: int
    end: int
    open: bool  # it had at most 1 us: its end is not known
    launched: bool
    first: int  # of the work launched in it
    last: int


class RankSteps:
    """Rows with number, start, end and open, in order and disjoint."""

    def __init__(self, rows: NDArray[Any]) -> None:
        self.rows = rows
        self._first = np.full(len(rows), np.iinfo(np.int64).max, np.int64)
        self._last = np.full(len(rows), np.iinfo(np.int64).min, np.int64)

    def around(self, times: Ints) -> Ints:
        """Return the index of the step at each time, or -1."""
        place = np.searchsorted(self.rows["start"], times, "right") - 1
        return np.where((place >= 0) & (times < np.r_[self.rows["end"], 0][place]), place, -1)

    def launch(self, times: Ints, starts: Ints, ends: Ints) -> None:
        """Add work from its launch, start and end."""
        step = self.around(times)
        inside = step >= 0
        np.minimum.at(self._first, step[inside], starts[inside])
        np.maximum.at(self._last, step[inside], ends[inside])

    def by_work(self) -> list[tuple[int, int, int]] | None:
        """Return number, start and end of the steps; if the work launched in them lies elsewhere, of that work. None if
        nothing was launched in them."""
        columns = *(self.rows[key].tolist() for key in ("number", "start", "end", "open")), self._first <= self._last
        steps = [_Step(*row) for row in zip(*columns, self._first.tolist(), self._last.tolist(), strict=True)]
        if not any(step.launched for step in steps):
            return None
        if _works_elsewhere(steps):
            steps = _disjoint(list(_of_work(steps)))
        return [(step.number, step.start, step.end) for step in steps]


def _works_elsewhere(steps: list[_Step]) -> bool:
    """Return whether work goes on after the steps, because the host runs ahead, or before them, because the clock of
    the GPU is behind, for more than a hundredth of their time."""
    launched = [step for step in steps if step.launched]
    outside = sum(max(step.last - step.end, 0) + max(step.start - step.first, 0) for step in launched)
    return outside > sum(step.end - step.start for step in steps) // 100


def _of_work(steps: list[_Step]) -> Iterable[_Step]:
    """Yield the steps with the times of their work, up to the first work of the next step."""
    for step, following in zip(steps, [*steps[1:], None], strict=True):
        if not step.launched:
            yield step
            continue
        close = following and following.launched and following.start - step.end <= (step.end - step.start) // 10
        end = max(step.last, following.first) if following and close else step.last
        yield _Step(step.number, step.first, end, step.open, True, step.first, step.last)


def _disjoint(steps: list[_Step]) -> list[_Step]:
    """Join parts of one step, sort, and end each step where the next one starts at the latest."""
    made: list[_Step] = []
    for step in sorted(steps, key=lambda step: (step.number, step.start)):
        if made and made[-1].number == step.number and not made[-1].open and step.start < made[-1].end:
            made[-1].end = max(made[-1].end, step.end)
        else:
            made.append(step)
    made.sort(key=lambda step: (step.start, step.number))
    for step, following in pairwise(made):
        step.end = min(step.end, following.start)
    return made
