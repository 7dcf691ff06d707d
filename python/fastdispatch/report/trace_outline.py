"""The slices of files; their first pass: the rank of each process, its kinds of slices, its steps."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from fastdispatch._core import timeline_events
from fastdispatch.read.arrays import Bools, Ints, Rows
from fastdispatch.read.clock_maps import ClockMap
from fastdispatch.read.event_rows import FAR, ROW, Has, Pairs, among, filtered, has_times, whole_slices
from fastdispatch.read.slice_kinds import Is, kind_of_slice
from fastdispatch.report.stray_times import TimeGroups
from fastdispatch.report.timeline_steps import Ranges, disjoint_steps, steps_of_ranges

#: ``rank``: by its name, "rank N ..."; -1: another name. Calls are lost because the recorder had no space.
_PROCESS = np.dtype([("rank", np.int64), ("events", np.int64), ("calls_lost", np.int64)])
_M = ord("M")
_SLICES = np.array([ord(phase) for phase in "XBEbe"])
_SAME = ClockMap()
#: Texts of all files, open slices of a file, ranks.
_TEXTS, _OPEN, _RANKS = 1 << 16, 1 << 18, 1 << 21
#: Steps and ranges in memory.
_MOST = 1 << 20
#: A step of at most this many nanoseconds was open when the trace ended, or has no end for another reason.
_SHORTEST = 1000


def is_inside(rows: Rows, window: tuple[int, int]) -> Bools:
    inside: Bools = (rows["start"] >= window[0]) & (rows["end"] <= window[1])
    return inside


class SliceReader:
    """Reads the slices of files. Texts are numbered over all files, processes and threads over the files of a pass.
    ``progress`` receives the number of bytes read, and ``total``."""

    def __init__(self, total: int = 0, progress: Callable[[int, int], object] | None = None) -> None:
        self.texts = {"": 0}
        self.total, self._done, self._progress = total, 0, progress
        self.begin_pass()

    def begin_pass(self) -> None:
        self.files = self._lanes = 0
        self.processes = np.empty(0, _PROCESS)
        self.losses: list[tuple[int, int]] = []  # rank and number of damaged regions, as a merge reports them

    def read(
        self,
        path: str | bytes,
        take: Callable[[Rows], None],
        clock: ClockMap = _SAME,
        transfers: bytes | None = None,
        size: int = 0,
    ) -> dict[str, Any]:
        """Pass the slices of a file to ``take`` in batches, by their ends, with times by ``clock``. Return facts about
        the file."""
        process, lane, pairs = len(self.processes), self._lanes, Pairs()
        facts = {"repaired": 0, "timeless": 0, "unpaired": 0}
        numbers = np.zeros(1, np.uint32)

        def accept(batch: bytearray, texts: list[str]) -> None:
            nonlocal numbers
            numbers = np.r_[numbers, np.array([self._number(text) for text in texts], np.uint32)]
            rows = np.frombuffer(batch, ROW)
            facts["repaired"] += int(rows["repairs"].sum() + rows["slashes"].sum())
            self._take_ranks(rows[rows["flags"] & Has.RANK != 0])
            rows = filtered(rows, rows["event"] > 0)
            for column, first in (("process", process), ("lane", lane)):
                rows[column] += np.uint32(first)
            for column in ("category", "name", "type", "group"):
                rows[column] = numbers[rows[column]]
            self._take_events(rows)
            slices, timed = np.isin(rows["phase"], _SLICES), has_times(rows)
            facts["timeless"] += int((slices & ~timed).sum())
            if len(rows := whole_slices(filtered(rows, slices & timed), pairs)):
                for column in ("start", "end"):
                    rows[column] = clock.moved(rows[column]).clip(-FAR, FAR)
                take(rows)
            facts["unpaired"] += len(pairs.left[_OPEN:])
            pairs.left = pairs.left[:_OPEN]

        def report(done: int, _: int) -> None:
            if self._progress is not None:
                self._progress(self._done + done, self.total)

        found = timeline_events(path, accept, kind_of_slice, progress=report, transfers=transfers)
        self.files += 1
        self._done += size
        facts["unpaired"] += pairs.endless + len(pairs.left)
        return found | facts

    def _number(self, text: str) -> int:
        known = text in self.texts or len(self.texts) < _TEXTS
        return self.texts.setdefault(text if known else "(other)", len(self.texts))

    def _take_ranks(self, rows: Rows) -> None:
        rows = rows[rows["end"] > 0]
        self.losses += zip(rows["number"].tolist(), rows["end"].tolist(), strict=True)

    def _take_events(self, rows: Rows) -> None:
        if not len(rows):
            return
        self._lanes = max(self._lanes, int(rows["lane"].max()) + 1)
        more = int(rows["process"].max()) + 1 - len(self.processes)
        self.processes = np.r_[self.processes, np.array([(-1, 0, 0)] * more, _PROCESS)]
        counted = np.bincount(rows["process"][rows["phase"] != _M], minlength=len(self.processes))
        self.processes["events"] += counted
        lost = rows[among(rows, Has.LOSS)]
        np.add.at(self.processes["calls_lost"], lost["process"], lost["number"].astype(np.int64))
        named = rows[among(rows, Has.PROCESS | Has.NUMBER) & (rows["number"] < _RANKS)]
        self.processes["rank"][named["process"]] = named["number"]


class Outline:
    """Receives slices with ``window``, a begin and an end: only those between them."""

    def __init__(self, window: tuple[int, int] | None = None) -> None:
        self.window = window
        self.groups = TimeGroups()
        self.steps_left_out = 0
        self.ranks: list[dict[str, Any]] = []
        self.rank_of: Ints = np.empty(0, np.int64)  # of each process, as index of ``ranks``
        self._kinds, self._first, self._last = (np.empty(0, np.int64) for _ in range(3))
        self._steps = [np.empty(0, ROW)]
        self._ranges = [np.empty(0, ROW)]

    def take(self, rows: Rows, file: int = 0) -> None:
        """Add slices, of any file of the rank."""
        if self.window is not None:
            rows = rows[is_inside(rows, self.window)]
        if not len(rows):
            return
        kind, process = rows["kind"].astype(np.int64), rows["process"].astype(np.int64)
        self._grow(int(process.max()) + 1)
        both = Is.KERNEL | Is.COLLECTIVE
        np.bitwise_or.at(self._kinds, process, np.where(kind & both == both, kind | Is.GPU_COLLECTIVES, kind))
        counted = kind & Is.AROUND == 0
        np.minimum.at(self._first, process[counted], rows["start"][counted])
        np.maximum.at(self._last, process[counted], rows["end"][counted])
        if self.window is None:
            device = (kind & (Is.KERNEL | Is.COPY) != 0) & (kind & Is.COMMUNICATION == 0)
            self.groups.add(rows["start"][counted], rows["end"][counted], device[counted])
        self._take_steps(rows, kind)

    def _grow(self, count: int) -> None:
        more = max(count - len(self._kinds), 0)
        limits = np.iinfo(np.int64)
        self._kinds = np.r_[self._kinds, np.zeros(more, np.int64)]
        self._first = np.r_[self._first, np.full(more, limits.max)]
        self._last = np.r_[self._last, np.full(more, limits.min)]

    def _take_steps(self, rows: Rows, kind: Ints) -> None:
        """Add steps, and ranges until there is a step."""
        steps = np.flatnonzero(kind & (Is.STEP | Is.GPU_STEP) != 0)
        ranges = np.flatnonzero(kind & (Is.OPTIMIZER | Is.RANGE) != 0)
        seen = sum(map(len, self._steps))
        ranges = ranges[: np.searchsorted(ranges, steps[0]) if len(steps) else None] if not seen else ranges[:0]
        self._ranges.append(rows[ranges[: _MOST - sum(map(len, self._ranges))]])
        self._steps.append(rows[steps[: _MOST - seen]])
        self.steps_left_out += len(steps) - len(self._steps[-1])

    def finish(self, reader: SliceReader, rank: int, lost: int) -> None:
        """Make the rows of the ranks after a pass of ``reader``. Processes without a rank have that of the file.
        ``lost``: damaged regions of its files."""
        processes = reader.processes
        self._grow(len(processes))
        of = np.where(processes["rank"] >= 0, processes["rank"], rank)
        busy = self._last[: len(of)] >= self._first[: len(of)]
        numbers = np.unique(of[busy])
        self.ranks = [rank_row(number) for number in numbers.tolist()]
        place = np.searchsorted(numbers, of).clip(max=max(len(numbers) - 1, 0))
        known = np.isin(of, numbers)
        self.rank_of = np.where(known, place, 0)
        for index in np.flatnonzero(known).tolist():
            self._add(self.ranks[place[index]], index, processes[index], reader.files)
        for number, places in reader.losses:
            for row in self.ranks:
                row["places_lost"] += places if row["rank"] == number else 0
        for row in self.ranks:
            row["places_lost"] += lost if len(self.ranks) == 1 else 0
        if self.ranks:
            self._share_steps()
            self._find_ranges()

    def _add(self, row: dict[str, Any], index: int, process: Any, files: int) -> None:
        kinds = int(self._kinds[index])
        row["kinds"] |= kinds
        row["stepping"] += files == 1 and kinds & Is.STEP != 0
        if row["steps_from"] < 0 and kinds & Is.STEP:
            row["steps_from"] = index
        if row["jobs_of"] < 0 and kinds & Is.JOB:
            row["jobs_of"] = index
        row["events"] += int(process["events"])
        row["calls_lost"] += int(process["calls_lost"])
        if self._last[index] >= self._first[index]:
            first, last = int(self._first[index]), int(self._last[index])
            row["start"] = first if row["start"] is None else min(row["start"], first)
            row["end"] = last if row["end"] is None else max(row["end"], last)

    def _share_steps(self) -> None:
        """Give steps to their ranks. A step without an end lasts until the next one or the last slice of its
        process. The steps of a further process are not used: another program may number them differently."""
        rows = np.concatenate(self._steps)
        rank, on_gpu = self.rank_of[rows["process"]], rows["kind"] & Is.GPU_STEP != 0
        used = rows["process"] == np.array([row.pop("steps_from") for row in self.ranks])[rank]
        is_open = ~on_gpu & (rows["end"] - rows["start"] <= _SHORTEST)
        columns = rows["step"], rows["start"], np.where(is_open, self._last[rows["process"]], rows["end"]), is_open
        for index, row in enumerate(self.ranks):
            host, gpu = (rank == index) & ~on_gpu & used, (rank == index) & on_gpu
            row["open_steps"] = int(is_open[host].sum())
            row["steps"] = disjoint_steps(*(column[host] for column in columns))
            row["gpu_steps"] = disjoint_steps(*(column[gpu] for column in columns), on_gpu=True)

    def _find_ranges(self) -> None:
        """Make steps of the ranges of ranks that have none."""
        rows = np.concatenate(self._ranges)
        rank = self.rank_of[rows["process"]]
        _, first, name = np.unique(rows["type"], return_index=True, return_inverse=True)
        name = first[name]  # by first appearance
        order = np.lexsort((rows["start"], rows["lane"], name))
        for index, row in enumerate(self.ranks):
            own = order[rank[order] == index]
            if len(own) and not len(row["steps"]) and not len(row["gpu_steps"]):
                chosen, row["steps"] = steps_of_ranges(grouped(rows[own]), row["start"])
                if chosen is not None:
                    row |= {"steps_of": chosen.name, "steps_end_there": chosen.optimizer}


def grouped(rows: Rows) -> Iterator[Ranges]:
    """Yield the ranges of each name and thread."""
    bounds = np.flatnonzero((rows["type"][1:] != rows["type"][:-1]) | (rows["lane"][1:] != rows["lane"][:-1])) + 1
    for part in np.split(rows, bounds):
        numbers = np.where(part["step"] == np.iinfo(np.int64).min, -1, part["step"])
        times = zip(numbers.tolist(), part["start"].tolist(), part["end"].tolist(), strict=True)
        yield Ranges(int(part["type"][0]), bool(part["kind"][0] & Is.OPTIMIZER), list(times))


def rank_row(rank: int) -> dict[str, Any]:
    found = {"rank": rank, "kinds": 0, "events": 0, "calls_lost": 0, "places_lost": 0, "start": None, "end": None}
    steps = {"jobs_of": -1, "steps_from": -1, "stepping": 0, "open_steps": 0, "steps_of": 0, "steps_end_there": False}
    return found | steps


def find_steps(path: str, first: int, last: int) -> tuple[int, int] | None:
    """Return begin and end of the steps from ``first`` up to ``last`` in a file without ProfilerStep, in nanoseconds
    on its clock; None without such steps."""
    outline, reader = Outline(), SliceReader()
    reader.read(path, outline.take)
    outline.finish(reader, 0, 0)
    steps = [step for row in outline.ranks for step in row["steps"].tolist() if first <= step[0] < last]
    return (min(step[1] for step in steps), max(step[2] for step in steps)) if steps else None
