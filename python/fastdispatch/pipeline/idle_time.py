"""The time of each rank in each iteration of a pipeline: busy, or idle by cause. Each nanosecond is counted once.

busy        in F, B, I and W
waiting     in a transfer until the other end begins; before a job until its input is computed; after the last job:
              warm_up    before the first backward pass of the rank
              cool_down  after its last forward pass
              steady     between
the rest    transfer (both ends have begun), launch (neither waiting nor working), load, reduce, optimizer, unmatched
            transfers, other jobs
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fastdispatch.pipeline.sentences import PARTS
from fastdispatch.read.arrays import Bools, Ints, Unsigned
from fastdispatch.read.schedule_jobs import LM, OPT, RA, RD, RG, RT, SA, SG, B, F, I, W

BUSY, WARM_UP, STEADY, COOL_DOWN, TRANSFER, LAUNCH, LOAD, REDUCE, OPTIMIZER, UNMATCHED, OTHER = range(len(PARTS))
POSTED, FUSED, OPEN, FAILED = 1, 2, 4, 8
_FAR = 1 << 62


class Jobs:
    """The recorded jobs by rank, iteration and start, as arrays, and the ranks. References are rows; -1: none.

    A cell is one rank in one iteration: its jobs are ``cells[cell]`` up to ``cells[cell + 1]``.
    """

    def __init__(self, made: dict[str, Any]) -> None:
        arrays = {name: np.asarray(view) for name, view in made["jobs"].items()}
        self.kind, self.flags = arrays["kind"], arrays["flags"]
        self.row, self.buffer, self.bytes = arrays["row"], arrays["buffer"], arrays["bytes"]
        self.start, self.end, self.at = arrays["start"], arrays["end"], arrays["at"].astype(np.int64)
        self.stage, self.peer = arrays["stage"].astype(np.int64), arrays["peer"].astype(np.int64)
        self.micro_batch, self.other = arrays["micro_batch"].astype(np.int64), arrays["other"].astype(np.int64)
        self.iterations, step = np.unique(arrays["iteration"], return_inverse=True)
        self.ranks = {name: np.asarray(view) for name, view in made["ranks"].items()}
        self.line = self.ranks["line"].astype(np.int64)
        self.lines: int = made["lines"]
        self.stages: int = made["stages"]
        self.chunks: int = made["chunks"]
        self.count = len(self.kind)
        self.cell: Ints = self.at * len(self.iterations) + step.reshape(-1)
        self.cells: Ints = np.searchsorted(self.cell, np.arange(len(self.line) * len(self.iterations) + 1))
        self.computes: Bools = (self.kind >= F) & (self.kind <= W)
        self.sends: Bools = (self.kind == SA) | (self.kind == SG)
        self.moves: Bools = (self.kind >= SA) & (self.kind <= RG)
        self.joined: Bools = self.moves & (self.other >= 0)
        self.posted: Bools = (self.flags & POSTED) != 0
        self.same_call = self._same_calls()
        self.ready = self._meetings()

    def _same_calls(self) -> Bools:
        """Whether a job is the same call as the job before it."""
        same = np.zeros(self.count, bool)
        fused = (self.flags & FUSED) != 0
        same[1:] = fused[1:] & fused[:-1]
        for each in (self.at, self.start, self.end):
            same[1:] &= each[1:] == each[:-1]
        return same

    def _meetings(self) -> Ints:
        """When both ends of a transfer had begun. A send that ended before was buffered: it did not wait."""
        there = self.start[self.other]
        waits = self.joined & ~self.posted & ~(self.sends & (there >= self.end))
        met: Ints = np.where(waits, np.minimum(np.maximum(there, self.start), self.end), self.start)
        return met

    @property
    def early(self) -> int:
        """The number of receives that ended before their send began."""
        receives = self.joined & ~self.sends & ~self.posted
        return int((receives & (self.end < self.start[self.other])).sum())

    def jobs_of(self, at: int, step: int) -> range:
        """Return the rows of a cell."""
        cell = at * len(self.iterations) + step
        return range(int(self.cells[cell]), int(self.cells[cell + 1]))


@dataclass
class IterationSpans:
    """Start and end of each iteration of each line, by cell; of a line all cells have the same."""

    start: Ints
    end: Ints
    whole: Bools  #: all ranks of the line completed the iteration
    chosen: Bools  #: included in the figures
    drawn: int  #: index of the chosen iteration with the median length; -1: none


def spans_of(jobs: Jobs, iterations: tuple[int, int] | None) -> IterationSpans:
    """Return the spans of iterations, and the choice: complete ones, by default without the first if there are more."""
    count = len(jobs.iterations)
    shape = jobs.lines, count
    there = (np.diff(jobs.cells) > 0).reshape(len(jobs.line), count)
    last = jobs.cells[1:].reshape(len(jobs.line), count) == jobs.ranks["end"][:, None]
    cut = there & last & jobs.ranks["killed"].astype(bool)[:, None]
    start, end = np.full(shape, _FAR), np.full(shape, -_FAR)
    present, broken = np.zeros(shape, int), np.zeros(shape, bool)
    members = np.bincount(jobs.line, minlength=jobs.lines)
    np.add.at(present, jobs.line, there)
    np.logical_or.at(broken, jobs.line, cut)
    place = jobs.line[jobs.at], jobs.cell % max(count, 1)
    np.minimum.at(start, place, jobs.ready)
    np.maximum.at(end, place, jobs.end)
    np.logical_or.at(broken, place, (jobs.flags & (OPEN | FAILED)) != 0)
    start, end = np.where(present, start, 0), np.where(present, end, 0)
    whole = (present > 0) & (present == members[:, None]) & ~broken
    if iterations is None:
        complete = whole.any(0)
        selected = np.ones(count, bool)
        if complete.sum() > 1:
            selected[complete.argmax()] = False
    else:
        selected = (jobs.iterations >= iterations[0]) & (jobs.iterations < iterations[1])
    chosen = selected & (end > start) & (whole | (not whole.any()))
    drawn = _middle(end - start, chosen, jobs.line)
    by_cell = [each[jobs.line].reshape(-1) for each in (start, end, whole, chosen)]
    return IterationSpans(by_cell[0], by_cell[1], by_cell[2], by_cell[3], drawn)


def _middle(length: Ints, chosen: Bools, line: Ints) -> int:
    for each in line:
        among = np.flatnonzero(chosen[each])
        if among.size:
            return int(among[np.argsort(length[each][among], kind="stable")[(among.size - 1) // 2]])
    return -1


@dataclass
class Dependencies:
    """The dependency of each job on another rank: until ``time``, on ``rank`` (an index; -1: no rank)."""

    producer: Ints  #: the job on another rank that computes the input of a computation without a receive
    time: Ints
    rank: Ints


def waits_of(jobs: Jobs) -> Dependencies:
    """Find the dependencies. F depends on F of the stage before, B and I on B or I of the stage after."""
    producer = _producers(jobs)
    receives = jobs.joined & ~jobs.sends & ~jobs.posted
    rank = np.where(receives, jobs.at[jobs.other], np.where(producer >= 0, jobs.at[producer], -1))
    time = np.where(receives, jobs.start[jobs.other], jobs.end[producer])
    return Dependencies(producer, time, rank)


def _producers(jobs: Jobs) -> Ints:
    none = np.full(jobs.count, -1)
    roles = np.full(256, -1)
    roles[[F, B, I, RA, RG]] = 0, 1, 1, 2, 3
    role = np.where((jobs.micro_batch >= 0) & (jobs.stage >= 0), roles[jobs.kind], -1)
    place = jobs.line[jobs.at] * len(jobs.iterations) + jobs.cell % max(len(jobs.iterations), 1)
    _, place = np.unique(place * (jobs.micro_batch.max(initial=0) + 2) + jobs.micro_batch, return_inverse=True)
    base = place.reshape(-1) << 18  # stages have 15 bits
    keys = np.where(role >= 0, base + (jobs.stage << 2) + role, -1)
    known, first = np.unique(keys, return_index=True)

    def find(wanted: Ints) -> Ints:
        at = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
        found: Ints = np.where((known[at] == wanted) & (wanted >= 0), first[at], -1)
        return found

    if not jobs.count:
        return none
    computes = (role == 0) | (role == 1)
    source = jobs.stage + np.where(role == 0, -1, 1)
    taken = find(np.where(computes, base + (jobs.stage << 2) + role + 2, -1)) >= 0
    made = find(np.where(computes & ~taken & (source >= 0), base + (source << 2) + role, -1))
    return np.where((made >= 0) & (jobs.at[made] != jobs.at), made, -1)


@dataclass
class Nesting:
    """Jobs in time: a job begins within ``below`` (-1: none), after ``before``, the last one that had ended."""

    below: Ints
    before: Ints


def nesting_of(jobs: Jobs, spans: IterationSpans) -> Nesting:
    rows = np.arange(jobs.count)
    below = np.full(jobs.count, -1)
    inner = np.zeros(jobs.count, bool)
    inner[1:] = jobs.cell[1:] == jobs.cell[:-1]
    before = np.where(inner, rows - 1, -1)
    start = np.maximum(jobs.start, spans.start[jobs.cell])
    overlaps = inner.copy()
    overlaps[1:] &= jobs.end[:-1] > start[1:]
    for cell in np.unique(jobs.cell[overlaps]).tolist():
        first, last = int(jobs.cells[cell]), int(jobs.cells[cell + 1])
        found = _stack(start[first:last].tolist(), jobs.end[first:last].tolist(), first)
        below[first:last], before[first:last] = found
    again = jobs.same_call & inner
    for row in np.flatnonzero(again).tolist():
        before[row] = before[row - 1]
    return Nesting(below, before)


def _stack(starts: list[int], ends: list[int], base: int) -> tuple[list[int], list[int]]:
    """Return ``below`` and ``before`` of the jobs of a cell, some of which overlap."""
    opened: list[int] = []
    below, before = [], []
    latest = -1
    for row, start in enumerate(starts):
        while opened and ends[opened[-1]] <= start:
            top = opened.pop()
            if latest < 0 or ends[top] >= ends[latest]:
                latest = top
        below.append(base + opened[-1] if opened else -1)
        before.append(base + latest if latest >= 0 else -1)
        opened.append(row)
    return below, before


@dataclass
class Pieces:
    """Intervals of the time of ranks, each of one part, by cell and time."""

    cell: Ints
    start: Ints
    end: Ints
    job: Ints  #: -1: between jobs
    part: Ints
    rank: Ints  #: index of the rank that is waited for; -1: none


@dataclass
class IdleTime:
    """The parts of all ranks in all iterations."""

    jobs: Jobs
    spans: IterationSpans
    waits: Dependencies
    before: Ints
    pieces: Pieces
    parts: Ints = field(init=False)  #: by cell and part

    def __post_init__(self) -> None:
        self.parts = np.zeros((len(self.spans.start), len(PARTS)), np.int64)
        np.add.at(self.parts, (self.pieces.cell, self.pieces.part), self.pieces.end - self.pieces.start)

    def awaited(self) -> list[list[int]]:
        """Return by rank and stage, how long a rank waited for the stage in chosen iterations."""
        pieces, jobs = self.pieces, self.jobs
        found = np.zeros((len(jobs.line), jobs.stages), np.int64)
        kept = (pieces.rank >= 0) & self.spans.chosen[pieces.cell]
        at = pieces.cell[kept] // max(len(jobs.iterations), 1)
        stage = jobs.ranks["stage"][pieces.rank[kept]]
        np.add.at(found, (at, stage), (pieces.end - pieces.start)[kept])
        listed: list[list[int]] = found.tolist()
        return listed


def idle_time(jobs: Jobs, iterations: tuple[int, int] | None) -> IdleTime:
    """Divide the time of each rank in each iteration."""
    spans, waits = spans_of(jobs, iterations), waits_of(jobs)
    nesting = nesting_of(jobs, spans)
    segments = _segments(jobs, spans, nesting)
    until, rank = _waiting(jobs, waits, *segments[3:])
    return IdleTime(jobs, spans, waits, nesting.before, _split(jobs, spans, segments, until, rank))


def _segments(jobs: Jobs, spans: IterationSpans, nesting: Nesting) -> tuple[Ints, ...]:
    """Return pieces of time with the job that runs, the innermost one, or -1 and the job that follows."""
    used = np.flatnonzero(spans.end > spans.start)
    begins = np.maximum(jobs.start, spans.start[jobs.cell])
    # The time before the first job of each cell, then the time from each job to the next.
    cell = np.concatenate([used, jobs.cell])
    start = np.concatenate([spans.start[used], begins])
    owner = np.concatenate([np.full(len(used), -1), np.arange(jobs.count)])
    following = np.concatenate([jobs.cells[used], np.arange(jobs.count) + 1])
    last = following >= jobs.cells[cell + 1]
    bounds = np.append(begins, 0)
    end = np.where(last, spans.end[cell], bounds[following])
    following = np.where(last, -1, following)
    made = []
    while len(cell):
        job_end = np.where(owner >= 0, np.clip(np.append(jobs.end, 0)[owner], start, end), end)
        made.append((cell, start, job_end, owner, following))
        left = job_end < end
        cell, start, end, following = cell[left], job_end[left], end[left], following[left]
        owner = nesting.below[owner[left]]
    columns = [np.concatenate(column) for column in zip(*made, strict=True)] if made else [np.zeros(0, int)] * 5
    kept = columns[2] > columns[1]
    return tuple(column[kept] for column in columns)


def _waiting(jobs: Jobs, waits: Dependencies, owner: Ints, following: Ints) -> tuple[Ints, Ints]:
    """Return until when each piece is waiting, and for which rank. If two jobs are one call, the later one decides."""
    rows = np.arange(jobs.count)
    earlier = np.maximum(rows - 1, 0)
    late = np.where(jobs.same_call & (jobs.ready[earlier] > jobs.ready), earlier, rows)
    job_until = np.where(jobs.joined, jobs.ready[late], -_FAR)
    job_rank = np.where(jobs.joined, jobs.at[jobs.other[late]], -1)
    stops = np.where(jobs.computes | jobs.moves, rows, jobs.count)
    following_stop = np.minimum.accumulate(stops[::-1])[::-1] if jobs.count else stops
    next_ = np.minimum(following_stop, jobs.cells[jobs.cell + 1] - 1)
    gap_rank = waits.rank[next_]
    gap_until = np.where(gap_rank >= 0, waits.time[next_], -_FAR)
    if not jobs.count:
        return np.full(len(owner), -_FAR), np.full(len(owner), -1)
    gap = following >= 0
    until = np.where(owner >= 0, job_until[owner], np.where(gap, gap_until[following], -_FAR))
    rank = np.where(owner >= 0, job_rank[owner], np.where(gap, gap_rank[following], -1))
    return until, rank


def _split(jobs: Jobs, spans: IterationSpans, segments: tuple[Ints, ...], until: Ints, rank: Ints) -> Pieces:
    """Divide each piece into waiting and the rest."""
    cell, start, end, owner, following = segments
    middle = np.where(rank >= 0, np.clip(until, start, end), start)
    forward, backward = _phases(jobs, spans)
    phase = np.where(start < backward[cell], WARM_UP, np.where(start >= forward[cell], COOL_DOWN, STEADY))
    idle = np.where(following < 0, COOL_DOWN, LAUNCH)
    rest = np.where(owner >= 0, np.append(part_of(jobs), 0)[owner], idle)
    waiting, other = middle > start, end > middle
    columns = (
        np.concatenate([cell[waiting], cell[other]]),
        np.concatenate([start[waiting], middle[other]]),
        np.concatenate([middle[waiting], end[other]]),
        np.concatenate([owner[waiting], owner[other]]),
        np.concatenate([phase[waiting], rest[other]]),
        np.concatenate([rank[waiting], np.full(other.sum(), -1)]),
    )
    order = np.lexsort((columns[1], columns[0]))
    return Pieces(*(column[order] for column in columns))


def _phases(jobs: Jobs, spans: IterationSpans) -> tuple[Ints, Ints]:
    """Return the end of the last forward pass and the start of the first backward pass of each cell."""
    forward, backward = np.full(len(spans.start), -_FAR), np.full(len(spans.start), _FAR)
    first = backward.copy()
    is_forward, is_backward = jobs.kind == F, (jobs.kind == B) | (jobs.kind == I)
    np.maximum.at(forward, jobs.cell[is_forward], jobs.end[is_forward])
    np.minimum.at(first, jobs.cell[is_forward], jobs.start[is_forward])
    np.minimum.at(backward, jobs.cell[is_backward], jobs.start[is_backward])
    return forward, np.where(backward == _FAR, first, backward)


def part_of(jobs: Jobs) -> Ints:
    """Return the part of each job, except waiting."""
    by_kind = np.full(256, OTHER)
    by_kind[[LM, OPT, RT, RD]] = LOAD, OPTIMIZER, REDUCE, REDUCE
    by_kind[F : W + 1], by_kind[SA : RG + 1] = BUSY, UNMATCHED
    part: Ints = np.where(jobs.joined, TRANSFER, by_kind[jobs.kind])
    return part


def in_flight(jobs: Jobs) -> tuple[Ints, Unsigned]:
    """Return two maxima of each cell: forward passes, over all chunks, before their backward pass (W if separate), and
    the bytes of activations and gradients that were transferred for them."""
    apart = np.zeros(len(jobs.cells), bool)
    apart[jobs.cell[jobs.kind == W]] = True
    known = (jobs.micro_batch >= 0) & (jobs.stage >= 0)
    over = known & ((jobs.kind == B) | (jobs.kind == W) | ((jobs.kind == I) & ~apart[jobs.cell]))
    count = (known & (jobs.kind == F)).astype(np.int64) - over
    # A count that stays at 0 or above is the sum, less its lowest value so far.
    sums = np.cumsum(count) - jobs.cell * (4 * jobs.count)
    first = jobs.cells[jobs.cell]
    base = (np.cumsum(count) - count)[first] - jobs.cell * (4 * jobs.count)
    lowest = np.minimum.accumulate(np.minimum(sums, base))
    held = _held_bytes(jobs, known, over)
    passes, most = np.zeros(len(jobs.cells) - 1, np.int64), np.zeros(len(jobs.cells) - 1, np.uint64)
    np.maximum.at(passes, jobs.cell, sums - lowest)
    np.maximum.at(most, jobs.cell, held)
    return passes, most


def _held_bytes(jobs: Jobs, known: Bools, over: Bools) -> Unsigned:
    """Return the bytes that a rank holds after each job: a backward pass releases those of its micro-batch."""
    added = np.where(known & jobs.moves & (jobs.kind != SG), jobs.bytes, 0).astype(np.uint64)
    order = np.lexsort((np.arange(jobs.count), jobs.micro_batch, jobs.stage, jobs.cell))
    sums = np.cumsum(added[order], dtype=np.uint64)
    fresh = np.zeros(jobs.count, bool)
    fresh[:1] = True
    for column in (jobs.cell, jobs.stage, jobs.micro_batch):
        fresh[1:] |= column[order][1:] != column[order][:-1]
    ends = over[order]
    # The last release before each job, or the begin of its micro-batch.
    marks = np.where(fresh, np.arange(jobs.count), 0)
    marks[1:] = np.where(ends[:-1] & ~fresh[1:], np.arange(1, jobs.count), marks[1:])
    marks = np.maximum.accumulate(marks)
    released = np.zeros(jobs.count, np.uint64)
    released[order] = np.where(ends, sums - (sums - added[order])[marks], 0)
    total = np.cumsum(added, dtype=np.uint64) - np.cumsum(released, dtype=np.uint64)
    first = jobs.cells[jobs.cell]
    held: Unsigned = total - (total - added + released)[first]
    return held
