"""The critical path of an iteration of a pipeline, and the slack of its jobs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fastdispatch.pipeline.idle_time import LAUNCH, IdleTime, part_of

#: Maximum number of passes. More mean cyclic causes: the clocks are wrong.
_MOST_PASSES = 64


class Piece(NamedTuple):
    """A piece of the path; the pieces cover the iteration without gaps."""

    start: int
    end: int
    job: int  #: -1: a gap without a cause
    at: int  #: index of the rank
    part: int


@dataclass(slots=True)
class _Job:
    row: int
    start: int
    end: int
    ready: int
    at: int
    part: int
    waits: bool  #: a transfer that waited for its other end
    same: bool  #: the same call as the job before it
    other: _Job | None = None
    before: _Job | None = None  #: the last job of its rank that had ended
    maker: _Job | None = None  #: the producer of its input
    latest: int = 0  #: the latest end that does not delay the iteration

    @property
    def cause(self) -> _Job | None:
        """What determined its start: the job before, or the producer of its input."""
        maker, before = self.maker, self.before
        if maker and maker.end <= self.start and (before is None or maker.end > before.end):
            return maker
        return before

    @property
    def latest_start(self) -> int:
        """The latest start of it, and of the other end that waits for it."""
        start = self.latest - (self.end - self.ready)
        if self.other and self.other.waits:
            start = min(start, self.other.latest - (self.other.end - self.other.ready))
        return start


class CriticalPath:
    """The path of a line in an iteration (an index). A longer job with slack 0 makes the iteration longer; gaps without
    a cause keep their lengths."""

    def __init__(self, idle: IdleTime, line: int, step: int) -> None:
        found = _jobs_of(idle, line, step)
        cells = [at * len(idle.jobs.iterations) + step for at, of in enumerate(idle.jobs.line) if of == line]
        self._start, self._end = int(idle.spans.start[cells[0]]), int(idle.spans.end[cells[0]])
        self._by_row = found
        self._late_first = sorted(found.values(), key=lambda job: (-job.start, -job.row))
        #: Rows of jobs on the path.
        self.critical: set[int] = set()
        self.pieces = [*self._walk()][::-1] if found else []
        #: By row, ns by which a job can be longer without a longer iteration.
        self.slack = self._slack()

    def _walk(self) -> Iterator[Piece]:
        """Follow the causes from the job that ends last back to the start."""
        time = self._end
        job: _Job | None = max(self._late_first, key=lambda job: job.end)
        while job and job.row not in self.critical:
            at = job.at
            yield from self._piece(job.end, time, None, at)
            time = min(job.end, time)
            self.critical.add(job.row)
            begin = min(job.ready if job.waits else job.start, time)
            yield from self._piece(begin, time, job, at)
            time = begin
            if job.waits and job.ready > job.start and job.other:
                job = job.other
                self.critical.add(job.row)
                time = min(job.start, time)
                at = job.at
            job = job.cause
        yield from self._piece(self._start, time, None, at)

    def _piece(self, start: int, end: int, job: _Job | None, at: int) -> Iterator[Piece]:
        start = max(start, self._start)
        if end > start:
            yield Piece(start, end, job.row if job else -1, at, job.part if job else LAUNCH)

    def _slack(self) -> dict[int, int]:
        for job in self._late_first:
            job.latest = self._end
        for _ in range(_MOST_PASSES):
            if not any([self._relax(job) for job in self._late_first]):
                break
        return {job.row: max(job.latest - job.end, 0) for job in self._late_first}

    def _relax(self, job: _Job) -> bool:
        """Apply the latest start of a job to the jobs before it. Return whether one changed."""
        maker, before = job.maker, job.before
        free = [each.end for each in (before, maker) if each and (each is before or each.end <= job.start)]
        if not free:
            return False
        allowed = job.latest_start - (job.start - max(free))
        reached = [each for each in (before, maker) if each]
        if before and before.same and before.row - 1 in self._by_row:
            reached.append(self._by_row[before.row - 1])
        changed = [each for each in reached if allowed < each.latest]
        for each in changed:
            each.latest = allowed
        return bool(changed)


def _jobs_of(idle: IdleTime, line: int, step: int) -> dict[int, _Job]:
    jobs, waits = idle.jobs, idle.waits
    ranges = [jobs.jobs_of(at, step) for at, of in enumerate(jobs.line) if of == line]
    rows = [row for each in ranges for row in each]
    buffered = jobs.sends & (jobs.start[jobs.other] >= jobs.end) & (jobs.end > jobs.start)
    bound = jobs.joined & ~jobs.posted & ~buffered
    columns = (np.arange(jobs.count), jobs.start, jobs.end, jobs.ready, jobs.at, part_of(jobs), bound, jobs.same_call)
    values = zip(*(column[rows].tolist() for column in columns), strict=True)
    made = {row: _Job(*each) for row, each in zip(rows, values, strict=True)}
    links = (jobs.other, idle.before, waits.producer)
    for row, other, before, maker in zip(rows, *(column[rows].tolist() for column in links), strict=True):
        job = made[row]
        job.other, job.before, job.maker = made.get(other), made.get(before), made.get(maker)
    return made
