"""The flows of a pipeline in timelines: from each send to the end of the receive that matches it, on any rank.

The slice of a send is the begin of a flow. The flow ends at the last nanosecond of the receive, which often begins long
before the send; a message that is received in two jobs arrives at the end of the later one. The jobs of all ranks are
needed before the first rank is written; one recording is in memory at a time.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from fastdispatch import _core
from fastdispatch.read.clock_maps import LEAST, MOST, ClockMap
from fastdispatch.read.open_inputs import read_inputs
from fastdispatch.read.rank_dicts import facts_of
from fastdispatch.read.schedule_jobs import RA, RG

if TYPE_CHECKING:
    from fastdispatch.read.clock_alignment import Clocks
    from fastdispatch.read.pipeline_jobs import PipelineRank, RankJobs

#: Bits of the id of a flow above those of the send's row: other flows of a rank have other ones.
_TRANSFER = 3 << 30

#: The first bytes of a recording.
_MAGIC = b"fastdisp"


class ShownTimes(NamedTuple):
    """The part of a rank that is in a timeline: its clock, and times from ``begin`` up to ``end`` by the rank's own."""

    clock: ClockMap = ClockMap()
    begin: int = LEAST
    end: int = MOST


class _Part(NamedTuple):
    jobs: RankJobs
    known: PipelineRank
    shown: ShownTimes

    def times(self) -> tuple[list[int | None], list[int | None]]:
        """Return when the flow of each job begins and ends, if it is in the timeline, on the clock of the timeline."""
        starts, durations, drawn = (self.jobs.columns[name].tolist() for name in ("start", "duration", "drawn"))
        ends = [start + duration - (duration > 0) for start, duration in zip(starts, durations, strict=True)]
        clock, begin, end = self.shown

        def seen(times: list[int]) -> list[int | None]:
            pairs = zip(times, drawn, strict=True)
            return [clock(time) if is_drawn and begin <= time < end else None for time, is_drawn in pairs]

        return seen(starts), seen(ends)


def flows_of(trace: _core.Trace, shown: int, clocks: Clocks | None) -> list[bytes] | None:
    """Return the ends of flows of each rank of a trace that was read with its timeline, as rows of
    ``_core.timeline_rows()[1]``; None if no rank sends or receives. ``shown``: the rank in the timeline; -1: all."""
    parts = []
    for index, rank in enumerate(trace.columns("rank")["rank"]):
        clock = clocks.ranks[index].clock if clocks is not None else ClockMap()
        times = ShownTimes(clock) if shown in (index, -1) else ShownTimes(clock, MOST, LEAST)
        parts.append(_part(trace, index, rank, times))
    return _flows(parts)


def flows_between(recordings: Iterable[tuple[str | os.PathLike[str], ShownTimes]]) -> list[bytes] | None:
    """Return the same of recordings of one rank each."""
    return _flows([_part_of(path, shown) for path, shown in recordings])


def flows_within(path: str | os.PathLike[str]) -> bytes | None:
    """Return those between stages of one rank; None for files other than recordings."""
    if not os.path.isfile(path):
        return None
    with suppress(OSError, _core.Error), open(path, "rb") as file:
        found = flows_between([(path, ShownTimes())]) if file.read(len(_MAGIC)) == _MAGIC else None
        return found[0] if found else None
    return None


def _part_of(path: str | os.PathLike[str], shown: ShownTimes) -> _Part | None:
    for timeline in (False, True):
        trace = read_inputs([path], timeline=timeline)
        part = _part(trace, 0, trace.columns("rank")["rank"][0], shown)
        del trace
        if part is None or not part.jobs.moves:
            break
    return part


def _part(trace: _core.Trace, index: int, rank: int, shown: ShownTimes) -> _Part | None:
    if len(trace.arrays("job_slices", index)["drawn"]) == 0:
        return None
    from fastdispatch.read.pipeline_jobs import PipelineRank, RankJobs

    coordinates = json.loads(facts_of(trace, index).get("coordinates", "null"))
    return _Part(RankJobs(trace, index), PipelineRank.of(rank, coordinates, shown.clock), shown)


def _flows(parts: Sequence[_Part | None]) -> list[bytes] | None:
    given = [part for part in parts if part is not None]
    if not any(part.jobs.moves for part in given):
        return None
    import numpy as np

    times = [part.times() for part in given]
    ends: dict[int, list[tuple[int, int, bool]]] = defaultdict(list)
    for (out, send), (into, receive) in _transfers(given):
        begin, end = times[out][0][send], times[into][1][receive]
        if begin is not None and end is not None and begin < end:
            number = given[out].known.rank << 32 | _TRANSFER | send
            ends[out].append((number, send, False))
            ends[into].append((number, receive, True))
    row = np.dtype(_core.timeline_rows()[1])
    made = iter([np.array(sorted(ends[at], key=lambda end: end[1]), row).tobytes() for at in range(len(given))])
    return [b"" if part is None else next(made) for part in parts]


def _transfers(parts: Sequence[_Part]) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Yield rank and row of each send, and of the last job that received its message."""
    from fastdispatch.read.pipeline_jobs import pipeline_jobs

    jobs = pipeline_jobs([(part.jobs, part.known) for part in parts])["jobs"]
    at, rows, kinds, others, stops = (jobs[name].tolist() for name in ("at", "row", "kind", "other", "end"))
    last: dict[int, int] = {}
    for job, (other, kind) in enumerate(zip(others, kinds, strict=True)):
        if other >= 0 and kind in (RA, RG) and (other not in last or stops[last[other]] <= stops[job]):
            last[other] = job
    for send, receive in last.items():
        yield (at[send], rows[send]), (at[receive], rows[receive])
