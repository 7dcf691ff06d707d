"""Faults of a trace (docs/formats/timeline.md#checks), from the rows of its events."""

import math
from bisect import insort
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from typing import Any

import numpy as np

from fastdispatch._core import Error, timeline_events
from fastdispatch.read.arrays import Rows
from fastdispatch.read.event_rows import ROW, Has
from fastdispatch.read.paddle_log import PaddleLog, as_chrome_json
from fastdispatch.read.pipeline_flows import flows_within
from fastdispatch.read.slice_kinds import kind_of_slice
from fastdispatch.report.stray_times import TimeGroups

Mask = Any  # an array of flags
Place = tuple[int, int]  # byte, and number of the event from 1; 0: no single event

#: Rows of tracks in memory, processes, and places per kind.
_ROWS, _PROCESSES, _PLACES = 1 << 22, 1 << 16, 3
_NEVER = np.iinfo(np.int64).max


#: Kinds in the order of reports, a noun, its property, and the remedy. Notes are traits that profilers write by design.
_KINDS = """
damage | fault | place | without valid JSON | `timeline merge` keeps the intact events
repair | fault | invalid JSON value | (NaN, control characters or invalid UTF-8) | `timeline merge` writes valid JSON
backslash | fault | string escape | without a meaning in JSON: lone backslashes, as in Windows paths
    | `timeline merge` writes valid JSON
empty | note | event | without any member | JAX and TensorFlow end the list with one: viewers skip it
phase | fault | event | with an unknown ph | viewers skip such events
name | fault | event | without a name | viewers show [No name]
pid | fault | event | without a pid | viewers assign such events to process 0
text-id | note | event | with a pid or tid that is not a whole number below 2^32
    | Perfetto assigns numbers; so does `timeline merge`
time | fault | event | with a ts that is not a number, or too large | viewers drop such events
negative | fault | event | before time 0
    | Perfetto drops such events: shift the file with `timeline merge --align start`
far | note | event | far beyond all others
    | a time or a length that was not set, or of another clock: `timeline stats` does not count such slices
duration | fault | slice | with a dur that is negative, too large or not a number | Perfetto drops such slices
end-name | fault | slice end | with a name that differs from the begin | viewers leave the slice open
end | note | slice end | without a begin | the slice began before the capture: viewers skip the end
begin | note | slice | without an end | viewers draw such slices to the end of the trace
overlap | fault | slice | with a partial overlap within a thread
    | Perfetto drops such slices: move them to another thread, or merge to .pftrace
profiler-overlap | note | slice | of torch.profiler with a partial overlap within a thread
    | Perfetto drops such slices; `timeline merge` to .pftrace keeps them
kernel-overlap | note | kernel | inside another kernel of the stream
    | a stream runs one kernel at a time: the times of these, or of the kernels around them, are wrong
id | fault | flow or asynchronous event | without an id | viewers cannot connect such events
flow-start | note | flow event | without an earlier start | the flow began outside the capture: viewers draw no arrow
flow-end | note | flow start | without an end | the flow ends outside the capture: viewers draw no arrow
flow-slice | note | flow event | outside of all slices | viewers draw no arrow, or one to another slice
async-end | note | asynchronous end | without a begin | the operation began before the capture: viewers drop the end
async-begin | note | asynchronous begin | without an end | viewers draw the operation to the end of the trace
counter | fault | counter | without a number | Perfetto drops such counters
metadata | fault | metadata row | without the required argument | viewers skip such rows
unnamed-process | note | process | without a process_name | viewers show the pid
renamed-process | fault | process | with two names | viewers show the last name
same-name | note | process | with the name of another process | viewers show both, with their pids
steps | fault | step | out of order | the numbers of steps should grow with time
ranks | fault | problem | in `ranks`: a row that is duplicate, missing or without a process
    | merge the traces of the ranks again
"""
FAULTS = dict(line.split(" | ", 1) for line in _KINDS.strip().replace("\n    |", " |").splitlines())


@dataclass
class Faults:
    """Numbers of faults, and the first places of each kind."""

    counts: Counter[str] = field(default_factory=Counter)
    places: dict[str, list[Place]] = field(default_factory=dict)

    def add(self, kind: str, byte: int, event: int) -> None:
        self.counts[kind] += 1
        self.place(kind, (byte, event))

    def add_rows(self, kind: str, rows: Rows) -> None:
        self.counts[kind] += len(rows)
        for row in rows[np.argsort(rows["byte"], kind="stable")[:_PLACES]]:
            self.place(kind, (int(row["byte"]), int(row["event"])))

    def place(self, kind: str, place: Place) -> None:
        places = self.places.setdefault(kind, [])
        if len(places) < _PLACES or place[0] < places[-1][0]:
            insort(places, place, key=itemgetter(0))
            del places[_PLACES:]

    def rows(self) -> Iterator[dict[str, Any]]:
        for kind, about in FAULTS.items():
            state, noun, what, remedy = about.split(" | ")
            if count := self.counts[kind]:
                plural = "" if count == 1 else "es" if noun.endswith("s") else "s"
                first = [{"byte": byte, "event": event} for byte, event in self.places.get(kind, ())]
                row = {"kind": kind, "broken": state == "fault", "count": count, "what": f"{noun}{plural} {what}"}
                yield row | {"remedy": remedy, "first": first}


@dataclass
class TraceProcess:
    first: Place = (0, 0)
    busy: bool = False  # it has events that are not metadata
    name: int = 0
    rank: int | None = None
    step: Place | None = None  # number and start of the last step


def check(path: Any, progress: Callable[[int, int], object] | None = None) -> dict[str, Any]:
    """Find the faults of a trace: ``whole``, ``events``, ``lost_bytes``, ``left_out``, ``passes``, ``trouble`` and
    ``faults``. Raises Error for other files."""
    with as_chrome_json([(str(path), 0)]) as (given,):
        if len(given) == 2:
            return check_trace(path, progress)
        _, _, content, lost, trouble = given
        try:
            found = check_trace(content, progress, lost, PaddleLog(str(path)).members)
        except Error:
            raise Error(f"{path}: {trouble}") from None
        return found | {"trouble": trouble or found["trouble"]}


def check_trace(
    path: Any, progress: Callable[[int, int], object] | None, lost: int = 0, members: int = 0
) -> dict[str, Any]:
    """Check a file; with ``members`` before its events, one converted from another format, without ``lost`` events. As
    in other formats, places are then numbers of items."""
    faults, transfers = Faults(), flows_within(path)
    events, tracks = Events(faults), Tracks()
    facts: dict[str, Any] = {}
    passes = 0

    def report(done: int, size: int) -> None:
        if progress is not None:
            progress(passes * size + done, (tracks.passes + (tracks.passes > 1)) * size)

    def take(batch: bytearray, _: list[str]) -> None:
        rows = np.frombuffer(batch, ROW)
        if members:
            rows["byte"] = rows["event"] + members
        if not passes:
            events.take(rows)
        tracks.take(rows)

    finished = False
    while not finished:
        made = timeline_events(path, take, kind_of_slice, progress=report, transfers=transfers)
        facts = facts or made
        passes += 1
        finished = tracks.finish(faults)
    faults.counts["damage"] = facts["lost"] + lost
    events.finish()
    rows = list(faults.rows())
    found = {"whole": not any(row["broken"] for row in rows), "events": facts["events"]}
    found |= {"lost_bytes": facts["lost_bytes"], "left_out": events.left_out + tracks.left_out, "passes": passes}
    return found | {"trouble": facts["trouble"], "faults": rows}


def among(rows: Rows, phases: str) -> Mask:
    """Return which events have one of these phases."""
    return np.isin(rows["phase"], [ord(phase) for phase in phases])


class Events:
    """Checks of single events, of processes, and of the table ``ranks`` of a merge."""

    def __init__(self, faults: Faults) -> None:
        self.faults = faults
        self.left_out = 0
        self._processes: dict[int, TraceProcess] = {}
        self._ranks: dict[int, bool] = {}  # whether a process of the rank was found
        self._merged = False
        self._groups = TimeGroups()
        self._few = np.empty(0, ROW)  # events of groups with few events

    def take(self, rows: Rows) -> None:
        for kind, column in (("repair", "repairs"), ("backslash", "slashes")):
            counts = rows[column]
            if counts.any():
                self.faults.add_rows(kind, rows.repeat(counts.clip(max=_PLACES)))
                self.faults.counts[kind] += int((counts - counts.clip(max=_PLACES)).sum())
        flags = rows["flags"]
        for row in rows[flags & Has.RANK != 0]:
            self._take_rank(row)
        rows = rows[flags & (Has.RANK | Has.OTHER) == 0]
        self._check_each(rows)
        rows = rows[rows["flags"] & Has.EMPTY == 0]
        self._take_times(rows[(rows["phase"] != ord("M")) & (rows["flags"] & Has.START != 0)])
        self._take_processes(rows)

    def _take_times(self, rows: Rows) -> None:
        whole = (rows["phase"] == ord("X")) & (rows["flags"] & Has.END != 0)
        rows = rows.copy()
        rows["end"] = np.where(whole, rows["end"], rows["start"])
        self._groups.add(rows["start"], rows["end"], rows["flags"] & Has.DEVICE != 0)
        self._few = np.concatenate([part[self._groups.few(part["start"], part["end"])] for part in (self._few, rows)])

    def _check_each(self, rows: Rows) -> None:

        def has(flag: Has) -> Mask:
            return rows["flags"] & flag != 0

        some = ~has(Has.EMPTY)
        known = some & among(rows, "XBEiIRCMstfbneSTpFPNODVvc(),=")
        timed = known & ~among(rows, "M")
        found = {
            "empty": ~some,
            "phase": some & ~known,
            "name": among(rows, "XBibCMs") & ~has(Has.NAME),
            "pid": known & ~has(Has.PID),
            "text-id": known & has(Has.ODD_ID),
            "time": timed & ~has(Has.START),
            "negative": timed & has(Has.START) & (rows["start"] < 0),
            "duration": among(rows, "X") & ~has(Has.DURATION),
            "id": among(rows, "stfbneSTpF") & ~has(Has.ID),
            "counter": among(rows, "C") & ~has(Has.COUNTS),
            "metadata": among(rows, "M") & ~has(Has.ARGUMENT),
        }
        for kind, mask in found.items():
            if mask.any():
                self.faults.add_rows(kind, rows[mask])

    def _take_processes(self, rows: Rows) -> None:
        for pid, count in zip(*(found.tolist() for found in np.unique(rows["pid"], return_counts=True)), strict=True):
            if pid not in self._processes and len(self._processes) < _PROCESSES:
                self._processes[pid] = TraceProcess()
            self.left_out += 0 if pid in self._processes else count
        busy = rows[rows["phase"] != ord("M")]
        for at in np.unique(busy["pid"], return_index=True)[1].tolist():
            process = self._processes.get(int(busy["pid"][at]))
            if process is not None and not process.busy:
                process.busy, process.first = True, place_of(busy[at])
        flags = rows["flags"]
        for row in rows[(flags & Has.PROCESS != 0) | (flags & (Has.STEP | Has.START) == Has.STEP | Has.START)]:
            process = self._processes.get(int(row["pid"]))
            if process is not None and row["flags"] & Has.PROCESS:
                self._name(process, row)
            elif process is not None:
                self._take_step(process, row)

    def _name(self, process: TraceProcess, row: Rows) -> None:
        name = int(row["label"])
        if process.name not in (0, name):
            self.faults.add("renamed-process", *place_of(row))
        process.name = name
        process.rank = int(row["number"]) if row["flags"] & Has.NUMBER else None
        process.first = process.first if process.first[1] else place_of(row)

    def _take_step(self, process: TraceProcess, row: Rows) -> None:
        """Check that steps are numbered in time order."""
        step, start = int(row["number"]), int(row["start"])
        last, before = process.step or (step, start)
        if start > before if step < last else step > last and start < before:
            self.faults.add("steps", *place_of(row))
        process.step = step, start

    def _take_rank(self, row: Rows) -> None:
        self._merged = True
        number = int(row["number"])
        if not row["flags"] & Has.NUMBER or number in self._ranks:
            self.faults.add("ranks", *place_of(row))
        else:
            self._ranks[number] = bool(row["flags"] & Has.IDLE)

    def finish(self) -> None:
        window = self._groups.window()
        if window is not None:
            few = self._few
            self.faults.add_rows("far", few[(few["start"] < window[0]) | (few["end"] > window[1])])
        names: set[int] = set()
        for process in sorted(self._processes.values(), key=lambda process: process.first[0]):
            if process.busy and not process.name:
                self.faults.add("unnamed-process", *process.first)
            if process.name in names:
                self.faults.add("same-name", *process.first)
            names |= {process.name} - {0}
            if self._merged and process.rank is not None:
                if process.rank in self._ranks:
                    self._ranks[process.rank] = True
                else:
                    self.faults.add("ranks", *process.first)
        self.faults.counts["ranks"] += sum(not there for there in self._ranks.values())


def place_of(row: Rows) -> Place:
    return int(row["byte"]), int(row["event"])


#: A slice of a thread, an event of a flow, of an asynchronous track. ``end``: of an X; the name of a B or E.
_TRACK = np.dtype(
    {
        "names": ["track", "time", "end", "what", "kernel", "profiled", "byte", "event"],
        "formats": ["u8", "i8", "i8", "u1", "?", "?", "u8", "u8"],
    }
)
#: Events of flows on their threads, besides phases: inside a slice; before one, which begins later.
_INSIDE, _BEFORE = ord("."), ord(">")
_WHOLE, _END = ord("X"), ord("E")
#: Rows that are Python objects at a time.
_CHUNK = 1 << 14


class Tracks:
    """Checks of the events of a track together: slices of a thread nest and end; flows begin, end and lie in slices;
    asynchronous events form pairs. Their rows are sorted, a part of the tracks in each pass over the file."""

    def __init__(self) -> None:
        self.passes = 1  # of the file, after the first one if there are several
        self.left_out = 0
        self._part = 0
        self._begin()

    def _begin(self) -> None:
        self._parts = [np.empty(0, _TRACK)]
        self._held = self._offered = 0
        self._cut: set[int] = set()

    def take(self, rows: Rows) -> None:
        rows = rows[rows["flags"] & (Has.START | Has.RANK | Has.OTHER) == Has.START]
        flags = rows["flags"]
        whole, ends = among(rows, "X") & (flags & Has.END != 0), among(rows, "BE")
        flows, begins, closes = (among(rows, phases) & (flags & Has.ID != 0) for phases in ("stf", "bS", "eF"))
        before = among(rows, "f") & (flags & Has.ENCLOSES == 0)
        for mask, track, end, what in (
            (whole, "thread", "end", rows["phase"]),
            (ends, "thread", "label", rows["phase"]),
            (flows, "track", "end", rows["phase"]),
            (flows, "thread", "end", np.where(before, _BEFORE, _INSIDE)),
            (begins, "track", "end", np.full(len(rows), ord("b"))),
            (closes, "track", "end", np.full(len(rows), ord("e"))),
        ):
            self._add(rows[mask], track, end, what[mask])

    def _add(self, rows: Rows, track: str, end: str, what: Rows) -> None:
        self._offered += len(rows)
        if self.passes > 1:
            mine = (rows[track] >> np.uint64(32)) % np.uint64(self.passes) == self._part
            rows, what = rows[mine], what[mine]
        room = max(0, _ROWS - self._held)
        if self.passes > 1 and len(rows) > room:
            self._cut.update(rows[track][room:].tolist())
            self.left_out += len(rows) - room
        rows = rows[:room]
        made = np.zeros(len(rows), _TRACK)
        made["track"], made["time"], made["end"] = rows[track], rows["start"], rows[end].view(np.int64)
        made["what"], made["byte"], made["event"] = what[:room], rows["byte"], rows["event"]
        made["kernel"], made["profiled"] = rows["flags"] & Has.KERNEL != 0, rows["flags"] & Has.PROFILED != 0
        self._parts.append(made)
        self._held += len(made)

    def finish(self, faults: Faults) -> bool:
        """End a pass; return whether it was the last one."""
        if self.passes == 1 and self._offered > _ROWS:
            self.passes = 2 * self._offered // _ROWS + 1  # parts have unequal sizes
            self._begin()
            return False
        rows = np.concatenate(self._parts)
        self._parts.clear()
        if self._cut:
            cut = np.isin(rows["track"], np.array(list(self._cut), np.uint64))
            self.left_out += int(cut.sum())
            rows = rows[~cut]
        check_tracks(sorted_rows(rows), faults)
        self._part += 1
        self._begin()
        return self._part == self.passes


def sorted_rows(rows: Rows) -> Rows:
    """Sort by track, time and event. Of complete slices in a row that begin at the same time, the longest is first: it
    encloses the others, as in Perfetto."""
    rows = rows[np.lexsort((rows["event"], rows["time"], rows["track"]))]
    begins = rows["what"] == ord("X")
    again = begins[1:] & begins[:-1] & (rows["time"][1:] == rows["time"][:-1]) & ~changes(rows)[1:]
    return rows[np.lexsort((~rows["end"], np.r_[0, (~again).cumsum()][: len(rows)]))] if again.any() else rows


def changes(rows: Rows) -> Mask:
    """Return whether a row is the first of its track."""
    return np.r_[True, rows["track"][1:] != rows["track"][:-1]][: len(rows)]


def check_tracks(rows: Rows, faults: Faults) -> None:
    """Check sorted rows of whole tracks."""
    what, index = rows["what"], np.arange(len(rows))
    begins = np.isin(what, [ord("X"), ord("B")])
    following = np.minimum.accumulate(np.where(begins, index, len(rows))[::-1])[::-1].clip(max=len(rows) - 1)
    later = begins[following] & (rows["track"][following] == rows["track"])
    faults.add_rows("flow-slice", rows[(what == _BEFORE) & ~later])
    inside = (what == _INSIDE) & ~(later & (rows["time"][following] == rows["time"]))
    for _, thread in groupby(records(rows[begins | (what == ord("E")) | inside]), itemgetter(0)):
        check_thread(thread, faults)
    check_flows(rows[np.isin(what, [ord("s"), ord("t"), ord("f")])], faults)
    rows = rows[np.isin(what, [ord("b"), ord("e")])]
    faults.add_rows("async-end", rows[unmatched(rows, rows["what"] == ord("e"))])
    rows = rows[::-1]
    faults.add_rows("async-begin", rows[unmatched(rows, rows["what"] == ord("b"))])


def records(rows: Rows) -> Iterator[tuple[Any, ...]]:
    for at in range(0, len(rows), _CHUNK):
        part = rows[at : at + _CHUNK]
        yield from zip(*(part[name].tolist() for name in _TRACK.names or ()), strict=True)


def check_thread(thread: Iterator[tuple[Any, ...]], faults: Faults) -> None:
    """Check the slices of a thread, and the flows in them that begin with none."""
    open: list[tuple[int, ...]] = []  # end, name, kernel, profiled, byte, event, first end of it and those around it
    closed: float = -math.inf
    for _, time, end, what, kernel, profiled, byte, event in thread:
        while open and open[-1][0] <= time:
            closed = max(closed, open.pop()[0])
        if what == _INSIDE:
            if not open and closed < time:
                faults.add("flow-slice", byte, event)
        elif what == _END:
            at = next((at for at in reversed(range(len(open))) if open[at][0] == _NEVER), -1)
            if at < 0:
                faults.add("end", byte, event)
                continue
            _, name, _, began_profiled, *began, _ = open[at]
            if end and name and end != name:
                faults.add("end-name", byte, event)
                continue
            if at + 1 < len(open) or (at and open[at - 1][-1] < time):
                faults.add("profiler-overlap" if began_profiled else "overlap", *began)
            del open[at]
            closed = max(closed, time)
        else:
            last = end if what == _WHOLE else _NEVER
            around = open[-1] if open else (_NEVER, 0, False, False, 0, 0, _NEVER)
            if around[0] < last and what == _WHOLE:
                faults.add("profiler-overlap" if profiled else "overlap", byte, event)
                continue
            if kernel and around[2]:
                faults.add("kernel-overlap", byte, event)
            open.append((last, end, kernel, profiled, byte, event, min(last, around[-1])))
    for last, *_, byte, event, _ in open:
        if last == _NEVER:
            faults.add("begin", byte, event)


def check_flows(rows: Rows, faults: Faults) -> None:
    first, index = changes(rows), np.arange(len(rows))
    starts, ends = (rows["what"] == ord(phase) for phase in "sf")
    begin, start, end = (np.maximum.accumulate(np.where(mask, index, -1)) for mask in (first, starts, ends))
    before = np.r_[-1, start[:-1]][: len(rows)], np.r_[-1, end[:-1]][: len(rows)]
    is_open = (before[0] >= begin) & (before[0] > before[1])
    faults.add_rows("flow-start", rows[~starts & ~is_open])
    faults.add_rows("flow-end", rows[starts & np.r_[(first | starts)[1:], True][: len(rows)]])


def unmatched(rows: Rows, closing: Mask) -> Mask:
    """Return the closing rows without an opening one before them in their track."""
    first, step = changes(rows), np.where(closing, -1, 1)
    track, total = first.cumsum(), step.cumsum()
    level = total - (total - step)[first][track - 1]
    far = track * (2 * len(rows) + 1)  # tracks do not reach each other
    low = np.minimum.accumulate(level.clip(max=0) - far) + far
    return closing & (level < np.where(first, 0, np.r_[0, low[:-1]][: len(rows)]))
