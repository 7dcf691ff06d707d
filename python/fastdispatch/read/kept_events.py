"""The events of timelines that a merge keeps: those of steps, or those between two times.

Begins and ends of a slice are kept together, work of a GPU with its launch, a flow only if all its events are inside,
and metadata always. An event has a bit, by its number.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from fastdispatch._core import Error, timeline_events
from fastdispatch.read.arrays import Bools, Rows
from fastdispatch.read.clock_maps import LEAST, MOST, saturated
from fastdispatch.read.event_rows import FAR, ROW, Has, Pairs, among
from fastdispatch.read.slice_kinds import kind_of_slice

if TYPE_CHECKING:
    from fastdispatch.read.timeline_inputs import StepFinder, TimelineFile, Timelines

Span = tuple[int, int]
#: Whether slices of these processes, starts and ends are inside; ``at_begin``: also what ends at the very beginning.
Inside = Callable[[Any, Any, Any, bool], Bools]

_STEPS = Has.STEP | Has.GPU_STEP
_PAIRED = np.array([ord(phase) for phase in "BEbeSF"])
_FLOWS = np.array([ord(phase) for phase in "stf"])
_X, _M = ord("X"), ord("M")


def kept_events(
    timelines: Timelines, steps: Span | None, times: tuple[int | None, int | None] | None, find: StepFinder | None
) -> list[dict[str, Any]]:
    """Align the files and return the arguments of a merge for them, with the events to keep. Files without these steps
    are not used. Raises Error if nothing is left."""
    windows: dict[str, Windows] = {}
    if steps is not None:
        windows = {file.path: Windows(file, steps, find) for file in timelines.used}
    for file in list(timelines.used):
        if file.path in windows and windows[file.path].all is None:
            timelines.drop(file, "none of these steps")
    if not timelines.used:
        raise Error("none of these steps in any input")
    firsts = [(file, file.facts["clock"]["first"]) for file in timelines.used]
    timelines.align()
    timelines.draw_flows({path: window.all for path, window in windows.items() if window.all is not None})
    origin = min((file.clock.clock(first) for file, first in firsts if first is not None), default=0)
    arguments, kept = [], 0
    for file in timelines.used:
        found = windows[file.path] if steps else None
        choice = Choice(found or between(file, times or (None, None), origin), launches=steps is not None)
        read_events(file, choice.take)
        arguments.append(file.argument() | {"kept": choice.bits()})
        kept += choice.kept
    if times is not None and not kept:
        raise Error("no event in these times in any input")
    return arguments


def read_events(file: TimelineFile, take: Callable[[Rows], None]) -> None:
    """Pass the events of a file in batches, in the order of the file."""

    def accept(batch: bytearray, _: list[str]) -> None:
        rows = np.frombuffer(batch, ROW)
        take(rows[rows["event"] > 0])

    timeline_events(file.content, accept, kind_of_slice, transfers=file.transfers)


def between(file: TimelineFile, times: tuple[int | None, int | None], origin: int) -> Inside:
    """Slices that overlap times since ``origin``; the bounds are converted to times of the file."""
    begin, end = LEAST if times[0] is None else times[0], MOST if times[1] is None else times[1]

    def first(reaches: Callable[[int], bool]) -> int:
        """Return the first time of the file whose time since the origin reaches a bound."""
        low, high = LEAST, MOST
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if reaches(saturated(file.clock.clock(middle) - origin)) else (middle + 1, high)
        return low

    after, at, last = first(lambda ns: ns > begin), first(lambda ns: ns >= begin), first(lambda ns: ns >= end)

    def inside(_: Any, start: Any, stop: Any, at_begin: bool) -> Bools:
        found: Bools = (start < last) & ((stop >= after) | ((start >= at) & at_begin))
        return found

    return inside


class Windows:
    """The times of steps in a file: of each process with steps, and of ``all``, for the others; None without such
    steps. Slices begin in them. A step of length 0 has no end: it lasts until the next step."""

    def __init__(self, file: TimelineFile, steps: Span, find: StepFinder | None) -> None:
        first, last = steps
        self._steps = np.empty(0, ROW)
        read_events(file, self._take)
        rows = self._steps
        self.all: Span | None = None
        self._of: dict[int, Span] = {}
        if not len(rows):
            found = find(os.fsdecode(file.content), first, last) if find is not None else None
            self.all = found
            return
        later = rows["start"][rows["number"] >= np.uint64(last)]
        limit = int(later.min()) if len(later) else LEAST
        rows = rows[(rows["number"] >= np.uint64(first)) & (rows["number"] < np.uint64(last))]
        if len(rows):
            self.all = self._window(rows, limit)
            self._of = {int(pid): self._window(rows[rows["pid"] == pid], limit) for pid in np.unique(rows["pid"])}

    def _take(self, rows: Rows) -> None:
        found = rows[(rows["phase"] == _X) & among(rows, Has.START | Has.END) & (rows["flags"] & _STEPS != 0)]
        self._steps = np.r_[self._steps, found]

    def _window(self, rows: Rows, limit: int) -> Span:
        begin, end = int(rows["start"].min()), int(rows["end"].max())
        empty = rows["start"][rows["start"] == rows["end"]]
        if len(empty) and int(empty.max()) == end:
            end = limit if limit > end else MOST
        return begin, end

    def __call__(self, pid: Any, start: Any, _: Any, at_begin: bool) -> Bools:
        begin, end = (np.full(len(start), bound) for bound in self.all or (0, 0))
        for process, window in self._of.items():
            mine = pid == np.uint64(process)
            begin[mine], end[mine] = window
        found: Bools = (start < end) & ((start > begin) | ((start == begin) & at_begin))
        return found


class Choice:
    """Receives the events of a file. With ``launches``, work of a GPU is kept with its launch, if that is known: it may
    run later, on another clock."""

    def __init__(self, inside: Inside, launches: bool) -> None:
        self._inside, self._launches = inside, launches
        self._keep: list[Bools] = []
        self._metadata = 0
        self._pairs = Pairs()
        self._paired: list[Any] = []
        #: Keys that are inside, and outside; numbers of the events and their keys.
        self._flows, self._works = Joined(), Joined()

    def take(self, rows: Rows) -> None:
        phase, start, has = rows["phase"], rows["start"], among(rows, Has.START)
        ends = (phase == _X) & among(rows, Has.START | Has.END)
        keep = has & self._inside(rows["pid"], start, np.where(ends, rows["end"], start), True)
        keep |= (phase == _M) | ~among(rows, Has.TIMED)
        paired, flow = np.isin(phase, _PAIRED), np.isin(phase, _FLOWS)
        keep[paired | flow] = False
        self._keep.append(keep)
        self._metadata += int((phase == _M).sum())
        flows = rows[flow]
        counted = flows[~among(flows, Has.ARROW)] if self._launches else flows
        self._flows.add(counted["track"], among(counted, Has.START) & self._begins(counted, False))
        self._flows.follow(flows["event"], flows["track"])
        if self._launches:
            self._take_launches(rows[(phase == _X) & (rows["number"] > 0)])
        self._take_pairs(rows[paired & has & (abs(start // 2) < FAR // 2)])

    def _begins(self, rows: Rows, at_begin: bool) -> Bools:
        return self._inside(rows["pid"], rows["start"], rows["start"], at_begin)

    def _take_launches(self, rows: Rows) -> None:
        launches, works = rows[among(rows, Has.LAUNCH)], rows[among(rows, Has.WORK)]
        self._works.add(launches["number"], among(launches, Has.START) & self._begins(launches, True))
        self._works.follow(works["event"], works["number"])

    def _take_pairs(self, rows: Rows) -> None:
        begins, ends = self._pairs.take(rows)
        stop = np.maximum(begins["start"], ends["start"])
        whole = self._inside(ends["pid"], begins["start"], stop, True)
        self._paired += [begins["event"][whole], ends["event"][whole]]

    def bits(self) -> bytes:
        """Return a bit per event, and set ``kept``, the number of kept ones that are not metadata."""
        keep = np.concatenate([np.empty(0, np.bool_), *self._keep])
        left = self._pairs.left
        still = self._inside(left["pid"], left["start"], np.full(len(left), FAR), True)
        for number in (*self._paired, left["event"][still]):
            keep[number.astype(np.int64) - 1] = True
        for joined in (self._flows, self._works):
            event, inside, outside = joined.found()
            keep[event[inside & ~outside]] = True
            if joined is self._works:
                keep[event[outside & ~inside]] = False
        self.kept = int(keep.sum()) - self._metadata
        return np.packbits(keep, bitorder="little").tobytes()


class Joined:
    """Events that are kept by the place of others with their key."""

    def __init__(self) -> None:
        self._keys: tuple[list[Any], list[Any]] = [], []
        self._events: list[Any] = []
        self._of: list[Any] = []

    def add(self, keys: Any, inside: Bools) -> None:
        self._keys[0].append(np.unique(keys[~inside]))
        self._keys[1].append(np.unique(keys[inside]))

    def follow(self, events: Any, keys: Any) -> None:
        self._events.append(events.astype(np.int64) - 1)
        self._of.append(keys)

    def found(self) -> tuple[Any, Bools, Bools]:
        """Return the indexes of the events, whether others with their key are inside, and whether some are outside."""
        none = np.empty(0, np.uint64)
        keys = np.concatenate([none, *self._of])
        outside, inside = (np.isin(keys, np.concatenate([none, *each])) for each in self._keys)
        return np.concatenate([none.astype(np.int64), *self._events]), inside, outside
