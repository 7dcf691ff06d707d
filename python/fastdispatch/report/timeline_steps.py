"""Steps of a rank: those of the host, the work that was launched in them, those annotated on streams, or repeated
ranges of the program."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from fastdispatch.read.arrays import Bools, Ints, Rows

_STEP = np.dtype([("number", np.int64), ("start", np.int64), ("end", np.int64), ("open", np.bool_)])


@dataclass
class _Step:
    number: int
    start: int
    end: int
    open: bool  # it had at most 1 us: its end is not known
    launched: bool = False
    first: int = 0  # of the work launched in it
    last: int = 0


class RankSteps:
    """Rows with number, start, end and open, in order and disjoint."""

    def __init__(self, rows: Rows) -> None:
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


def _disjoint(steps: list[_Step], on_gpu: bool = False) -> list[_Step]:
    """Join parts of one step, sort, and end each step where the next one starts at the latest."""
    made: list[_Step] = []
    for step in sorted(steps, key=lambda step: (step.number, step.start)):
        last = made[-1] if made and made[-1].number == step.number else None
        if last is not None and (on_gpu or (not last.open and step.start < last.end)):
            last.end = max(last.end, step.end)
        else:
            made.append(step)
    made.sort(key=lambda step: (step.start, step.number))
    for step, following in pairwise(made):
        step.end = min(step.end, following.start)
    return made


def disjoint_steps(number: Ints, start: Ints, end: Ints, is_open: Bools, *, on_gpu: bool = False) -> Rows:
    """Return steps in order and disjoint. Those on several streams of a GPU, and copies of one on several threads, are
    joined; others with the same number are different steps."""
    columns = (column.tolist() for column in (number, start, end, is_open))
    steps = _disjoint([_Step(*row) for row in zip(*columns, strict=True)], on_gpu)
    return np.array([(step.number, step.start, step.end, step.open) for step in steps], _STEP)


@dataclass
class Ranges:
    """Ranges of one name on one thread, in order: number (-1: none), start and end."""

    name: int
    optimizer: bool
    rows: list[tuple[int, int, int]]

    @property
    def span(self) -> int:
        return self.rows[-1][2] - self.rows[0][1]

    def join_optimizers(self) -> None:
        """Join steps of optimizers that directly follow each other, as those of several parameter groups: after a pause
        that is shorter than the step before, and in less than half of the mean distance."""
        half = self.span // len(self.rows) // 2
        made = self.rows[:1]
        for number, start, end in self.rows[1:]:
            of, first, last = made[-1]
            if start - last < last - first and start - first < half:
                made[-1] = of, first, end
            else:
                made.append((number, start, end))
        self.rows = made

    def are_steps(self) -> bool:
        """Return whether the ranges follow each other without overlaps, and fill most of the time."""
        work = sum(end - start for _, start, end in self.rows)
        apart = all(before[2] <= after[1] for before, after in pairwise(self.rows))
        return len(self.rows) > 1 and apart and (self.optimizer or 0 < work >= self.span - self.span // 4)

    def is_better(self, best: Ranges) -> bool:
        """An optimizer ends an iteration; with several, the rarest one."""
        if self.optimizer != best.optimizer:
            return self.optimizer
        return len(self.rows) < len(best.rows) if self.optimizer else self.span > best.span


def steps_of_ranges(groups: Iterable[Ranges], first: int) -> tuple[Ranges | None, Rows]:
    """Make steps of the ranges of a rank: they end where optimizers end; otherwise they are annotations that follow
    each other closely. Return those that were chosen, None without steps. ``first``: the start of the first step that
    ends with an optimizer."""
    best = None
    for group in groups:
        if group.optimizer:
            group.join_optimizers()
        if group.are_steps() and (best is None or group.is_better(best)):
            best = group
    steps = []
    for index, (number, start, end) in enumerate(best.rows if best else ()):
        start, first = first if best and best.optimizer else start, end
        steps.append((number if number >= 0 else index, start, end))
    rows = np.array(steps, np.int64).reshape(-1, 3)
    return best, disjoint_steps(rows[:, 0], rows[:, 1], rows[:, 2], np.zeros(len(rows), np.bool_))
