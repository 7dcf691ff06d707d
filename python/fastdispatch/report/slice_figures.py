"""Figures of timelines from their slices (docs/formats/timeline.md)."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from typing import Any

import numpy as np

from fastdispatch._core import Error
from fastdispatch.read.arrays import Ints, Rows
from fastdispatch.read.event_rows import filtered
from fastdispatch.read.slice_kinds import Is
from fastdispatch.read.timeline_inputs import TimelineFile
from fastdispatch.report.durations import Tally, summary
from fastdispatch.report.gpu_streams import EventColumns, Streams
from fastdispatch.report.spans import NONE, Spans, joined, pieces, union, within, without
from fastdispatch.report.timeline_steps import RankSteps
from fastdispatch.report.trace_outline import Outline, SliceReader, is_inside
from fastdispatch.text.formats import counted, rounded_share

FigureRow = dict[str, Any]

_NONE = np.iinfo(np.int64).min
#: Intervals before those that overlap are joined.
_SPANS = 1 << 20


#: Kinds of work. On GPUs, copies are "memory".
_COMPUTE, _COMMUNICATION, _COPY = 1, 2, 3
_KINDS = ("compute", "communication", "memory")


#: Steps that are annotated on a GPU contain at least this share of its work.
_WHOLE = 0.8


def basis_of(kinds: int) -> str:
    """Return how computing is detected in a rank with these kinds of slices."""
    found = {Is.KERNEL | Is.COPY: "gpu", Is.OPERATOR: "operators", Is.JOB: "jobs"}
    return next((basis for wanted, basis in found.items() if kinds & wanted), "calls")


def work_of(basis: str, kind: Ints) -> Ints:
    """Return the kind of work of slices; 0: none."""
    talks = kind & Is.COMMUNICATION != 0
    if basis == "gpu":
        conditions = [kind & Is.COPY != 0, kind & Is.KERNEL == 0, talks]
        return np.select(conditions, [_COPY, 0, _COMMUNICATION], _COMPUTE)
    computes = {
        "operators": (kind & Is.OPERATOR != 0) & (kind & Is.ASYNC == 0),
        "jobs": kind & Is.JOB != 0,
        "calls": kind & (Is.ASYNC | Is.STEP | Is.AROUND) == 0,
    }
    return np.select([talks, computes[basis]], [_COMMUNICATION, _COMPUTE], 0)


def matched_kind(kinds: int) -> int:
    """Return the kind of slices by which collectives are matched, the one closest to the actual work."""
    return Is.KERNEL if kinds & Is.GPU_COLLECTIVES else Is.BACKEND if kinds & Is.BACKEND else Is.CALL


@dataclass
class Lanes:
    """When each thread or stream did which work. The key of a lane is its rank and its thread."""

    _parts: list[Ints] = field(default_factory=list)  # lane, work, start, end
    _held: int = 0

    def add(self, lane: Ints, work: Ints, start: Ints, end: Ints) -> None:
        busy = (work != 0) & (end > start)
        self._parts.append(np.stack([column[busy] for column in (lane, work, start, end)], axis=1))
        self._held += len(self._parts[-1])
        if self._held > _SPANS:
            self._parts = [np.insert(spans, [0, 0], key, axis=1) for key, spans in self.spans()]
            self._held = 0

    def spans(self) -> Iterator[tuple[tuple[int, int], Spans]]:
        """Yield lane, kind of work and times."""
        rows = np.concatenate((np.empty((0, 4), np.int64), *self._parts))
        rows = rows[np.lexsort((rows[:, 1], rows[:, 0]))]
        for part in np.split(rows, np.flatnonzero((rows[1:, :2] != rows[:-1, :2]).any(axis=1)) + 1):
            if len(part):
                yield (int(part[0, 0]), int(part[0, 1])), union(part[:, 2:])


def covered(starts: Ints, ends: Ints, busy: Spans) -> float:
    """Return the share of the busy time from the first start to the last end that is between starts and ends."""
    whole = int(within(busy, starts[:1], ends[-1:]).sum())
    return float(within(busy, starts, ends).sum()) / whole if whole else 1.0


def doubts(stepping: int, streams: list[FigureRow]) -> Iterator[str]:
    """Yield lines on several processes with steps, and on kernels within other kernels of their stream."""
    if stepping > 1:
        used = "those of the first are used, and the work of all"
        named = "several ranks need processes with the names `rank 0`, `rank 1`, ..."
        yield f"{stepping} processes have steps: {used} ({named})"
    if inside := sum(row["inside"] for row in streams):
        kernels = f"{counted(inside, 'kernel')} or copies"
        yield f"{kernels} within another one of the same stream: times of some of them are wrong"


@dataclass
class RankWork:
    """The times of the work of a rank, all threads together."""

    compute: Spans = field(default_factory=lambda: NONE)
    communication: Spans = field(default_factory=lambda: NONE)
    copies: Spans = field(default_factory=lambda: NONE)

    def add(self, lane: dict[int, Spans]) -> None:
        """Add a thread. It does not compute while it communicates: in a slice around a communication call."""
        talking = lane.get(_COMMUNICATION, NONE)
        self.compute = joined(self.compute, without(lane.get(_COMPUTE, NONE), talking))
        self.communication = joined(self.communication, talking)
        self.copies = joined(self.copies, lane.get(_COPY, NONE))

    @property
    def busy(self) -> Spans:
        return joined(joined(self.compute, self.communication), self.copies)

    def rows(self, starts: Ints, ends: Ints) -> Iterator[FigureRow]:
        """Yield the figures between each start and end."""
        both = joined(self.compute, self.communication)
        sets = (self.busy, self.compute, self.communication, both, self.copies)
        busy, compute, talking, either, copies = (within(spans, starts, ends) for spans in sets)
        exposed, duration = either - compute, ends - starts
        columns = {"start": starts, "end": ends, "busy": busy, "compute": compute, "communication": talking}
        columns |= {"exposed": exposed, "copies": copies, "duration": duration, "idle": duration - busy}
        columns["overlap"] = talking - exposed
        for row in zip(*(column.tolist() for column in columns.values()), strict=True):
            yield dict(zip(columns, row, strict=True))


class Parts:
    """Columns of some slices of all batches."""

    def __init__(self, *names: str) -> None:
        self._parts: dict[str, list[Rows]] = {name: [] for name in names}

    def add(self, rows: Rows, **more: Rows) -> None:
        if len(rows):
            for name, parts in self._parts.items():
                parts.append(more[name] if name in more else rows[name].copy())

    def columns(self) -> EventColumns:
        return {name: np.concatenate(parts) if parts else np.empty(0, np.int64) for name, parts in self._parts.items()}


def read_pass(reader: SliceReader, files: Sequence[tuple[int, TimelineFile]], take: Callable[..., None]) -> int:
    """Read the files of a rank and set their results. ``take`` receives slices, and ``file``, the index of their file.
    Return the number of damaged regions."""
    reader.begin_pass()
    for index, file in files:
        receive = partial(take, file=index)
        found = reader.read(file.content, receive, file.clock.clock, file.transfers, file.facts["size"])
        file.results = found | {
            "lost": file.damaged + found["lost"],
            "trouble": found["trouble"] if file.damage is None else file.damage,
        }
    return sum(file.results["lost"] for _, file in files)


class Slices:
    """Reads the slices of files, and makes the tables of figures."""

    def __init__(self, wanted: list[int] | None = None) -> None:
        self._wanted = wanted
        self.ranks: list[FigureRow] = []
        self.steps: list[FigureRow] = []
        self.gpus: list[FigureRow] = []
        self.streams: list[FigureRow] = []
        self.launches: list[FigureRow] = []
        self.steps_left_out = 0
        #: By index of the file: number of slices far beyond all others; text and reach of the first.
        self.strays: dict[int, tuple[int, int, int]] = {}
        self._names = Tally()
        self._jobs = Tally()
        self._collectives = Parts("match", "rank", "start", "end", "name", "group")
        self._here: list[FigureRow | None] = []

    def read(self, files: Sequence[TimelineFile], progress: Callable[[int, int], object] | None) -> list[str]:
        """Read files, which are sorted by rank, those of a rank together, and set their results. Return the texts by
        the numbers in the slices."""
        reader = SliceReader(2 * sum(file.facts["size"] for file in files), progress)
        for rank, part in groupby(enumerate(files), lambda each: each[1].rank):
            own = list(part)
            size = sum(file.facts["size"] for _, file in own)
            outline = Outline()
            lost = read_pass(reader, own, outline.take)
            if (window := outline.groups.window()) is not None:
                reader.total += size
                outline = Outline(window)
                lost = read_pass(reader, own, outline.take)
            outline.finish(reader, rank, lost)
            self.steps_left_out += outline.steps_left_out
            self._begin(outline, own[-1][1].path)
            if any(self._here):
                read_pass(reader, own, self._take)
                self._finish()
            else:
                reader.total -= size
        return list(reader.texts)

    def _begin(self, outline: Outline, file: str) -> None:
        seen = {row["rank"] for row in self.ranks}
        ranks = [row if self._wanted is None or row["rank"] in self._wanted else None for row in outline.ranks]
        for row in filter(None, ranks):
            if row["rank"] in seen:
                raise Error(f"{file}: rank {row['rank']} is also in another file")
            row["basis"] = basis_of(row["kinds"])
            for key in ("steps", "gpu_steps"):
                row[key] = RankSteps(row[key])
        self._here, self._rank_of, self._window = ranks, outline.rank_of, outline.window
        listed = [row or {"rank": -1, "kinds": 0, "basis": "calls"} for row in ranks]
        self._numbers = np.array([row["rank"] for row in listed], np.int64)
        self._basis = np.array([row["basis"] for row in listed])
        self._matched = np.array([matched_kind(row["kinds"]) for row in listed], np.int64)
        self._lanes = Lanes()
        self._launched = Parts("rank", "process", "thread", "start", "end", "correlation")
        self._gpu = Parts("rank", "process", "thread", "start", "end", "correlation", "device", "stream", "work")

    def _chosen(self, rows: Rows, file: int) -> Rows:
        """Set the rank of slices. Skip those of other ranks, and those far beyond all others, which are counted."""
        rows = filtered(rows, rows["process"] < len(self._rank_of))  # more if the file grew meanwhile
        rows["rank"] = self._rank_of[rows["process"]]
        rows = filtered(rows, self._numbers[rows["rank"]] >= 0)
        if self._window is None:
            return rows
        inside = is_inside(rows, self._window)
        far = rows[~inside & (rows["kind"] & Is.AROUND == 0)]
        if len(far):
            (start, last), (begin, end) = (int(far[key][0]) for key in ("start", "end")), self._window
            reach = start - begin if start < begin else last - end
            count, *first = self.strays.get(file, (0, int(far["name"][0]), reach))
            self.strays[file] = count + len(far), first[0], first[1]
        return filtered(rows, inside)

    def _take(self, rows: Rows, file: int) -> None:
        rows = self._chosen(rows, file)
        kind = rows["kind"].astype(np.int64)
        gpu = work_of("gpu", kind)
        duration = rows["end"] - rows["start"]
        self._take_names(rows, kind, gpu, duration)
        self._take_jobs(rows, kind, duration)
        runs = (kind & Is.RUNTIME != 0) & (rows["number"] > 0)
        self._launched.add(rows[runs], correlation=rows["number"][runs] - np.uint64(1), thread=rows["lane"][runs])
        works = ~runs & (gpu != 0)
        correlation = rows["number"][works] - np.uint64(1)
        self._gpu.add(rows[works], work=gpu[works], correlation=correlation, thread=rows["lane"][works])
        self._take_work(rows, kind)
        matched = (kind & Is.COLLECTIVE != 0) & (kind & self._matched[rows["rank"]] != 0)
        self._collectives.add(rows[matched], rank=self._numbers[rows["rank"][matched]])

    def _take_names(self, rows: Rows, kind: Ints, work: Ints, duration: Ints) -> None:
        named = kind & (Is.STEP | Is.GPU_STEP | Is.AROUND) == 0
        key = rows["category"].astype(np.int64) << 24 | rows["name"].astype(np.int64) << 2 | work
        self._names.add([key[named]], duration[named])

    def _take_jobs(self, rows: Rows, kind: Ints, duration: Ints) -> None:
        """Add jobs to their steps, and to the whole time. Another program's trace of the rank may have the same jobs:
        one process has them."""
        jobs_of = np.array([-1 if rank is None else rank["jobs_of"] for rank in self._here], np.int64)
        jobs = np.flatnonzero((kind & Is.JOB != 0) & (rows["process"] == jobs_of[rows["rank"]]))
        for index in np.unique(rows["rank"][jobs]).tolist():
            rank = self._here[index]
            own = jobs[rows["rank"][jobs] == index]
            if rank is None:
                continue
            around = rank["steps"].around(rows["start"][own])
            numbers = np.r_[rank["steps"].rows["number"], _NONE][around]
            steps = np.where(rows["step"][own] == _NONE, numbers, rows["step"][own])
            types = rows["type"][own].astype(np.int64)
            whole = np.full(len(own), _NONE, np.int64)
            for step, chosen in ((steps, steps != _NONE), (whole, whole == _NONE)):
                keys = [np.full(len(own), rank["rank"], np.int64), rows["stage"][own], step, types]
                self._jobs.add([key[chosen] for key in keys], duration[own][chosen])

    def _take_work(self, rows: Rows, kind: Ints) -> None:
        work, basis = np.zeros(len(rows), np.int64), self._basis[rows["rank"]]
        for name in set(self._basis.tolist()):
            own = basis == name
            work[own] = work_of(name, kind[own])
        self._lanes.add(rows["lane"].astype(np.int64) << 32 | rows["rank"], work, rows["start"], rows["end"])

    def _finish(self) -> None:
        """Make the rows of the ranks that were read."""
        work = [RankWork() for _ in self._here]
        lanes: dict[int, dict[int, Spans]] = {}
        for (lane, kind), spans in self._lanes.spans():
            lanes.setdefault(lane, {})[kind] = spans
        for lane, kinds in lanes.items():
            work[lane & (1 << 32) - 1].add(kinds)
        gpu = self._gpu.columns()
        streams = Streams(self._launched.columns(), gpu)
        figures, delays = streams.figures(), streams.delays()
        for index, rank in enumerate(self._here):
            if rank is not None:
                rank["doubts"] = list(doubts(rank.pop("stepping"), [row for row in figures if row["rank"] == index]))
                self._finish_rank(index, rank, work[index], streams)
        for rows, made in ((self.streams, figures), (self.launches, delays)):
            rows += [row | {"rank": int(self._numbers[row["rank"]])} for row in made]

    def _finish_rank(self, index: int, rank: FigureRow, work: RankWork, streams: Streams) -> None:
        host, annotated = rank.pop("steps"), rank.pop("gpu_steps")
        of_rank = (streams.launch_of >= 0) & (streams.work["rank"] == index)
        launch = streams.launch_of[of_rank]
        host.launch(streams.launches["start"][launch], streams.work["start"][of_rank], streams.work["end"][of_rank])
        chosen = host.by_work()
        if chosen is None:
            rows = host.rows
            if len(annotated.rows):
                share = covered(annotated.rows["start"], annotated.rows["end"], work.busy)
                if share < _WHOLE:
                    rank["doubts"].append(f"steps on the GPU contain only {rounded_share(share)} of its work")
                rows = rows if len(rows) and share < _WHOLE else annotated.rows
            chosen = list(zip(*(rows[key].tolist() for key in ("number", "start", "end")), strict=True))
        gpu = streams.extent(index)
        if gpu is not None:
            rank |= {"start": gpu[0], "end": gpu[1]}
            rank["doubts"].append("host and GPU have different clocks: all times are those of the GPU")
        times = np.array([(rank["start"], rank["end"]), *(step[1:] for step in chosen)], np.int64)
        whole, *steps = work.rows(times[:, 0], times[:, 1])
        of_gpu = streams.work["rank"] == index
        if of_gpu.any():
            self.gpus.append({"rank": rank["rank"], **kinds_of({k: v[of_gpu] for k, v in streams.work.items()}, work)})
        about = {key: value for key, value in rank.items() if key not in ("kinds", "jobs_of")}
        self.ranks.append(about | whole | {"steps": len(chosen)})
        self.steps += [{"rank": rank["rank"], "step": step[0], **row} for step, row in zip(chosen, steps, strict=True)]

    def names(self, text: Callable[[int], str]) -> Iterator[FigureRow]:
        for (key,), figures in self._names.rows():
            name = {"category": text(key >> 24), "name": text(key >> 2 & (1 << 22) - 1)}
            yield figures | name | {"kind": _KINDS[(key & 3) - 1] if key & 3 else None}

    def jobs(self, text: Callable[[int], str]) -> list[FigureRow]:
        made = []
        for (rank, *numbers, type), figures in self._jobs.rows():
            stage, step = (None if number == _NONE else number for number in numbers)
            made.append(figures | {"rank": rank, "stage": stage, "step": step, "type": text(type)})
        return made

    def collectives(self, text: Callable[[int], str]) -> tuple[list[FigureRow], Counter[int]]:
        """Return the rows of collectives, and how often each rank was the last to begin."""
        rows = self._collectives.columns()
        order = np.lexsort([rows[key] for key in ("end", "start", "rank", "match")])
        rows = {key: column[order] for key, column in rows.items()}
        tables: dict[tuple[int, int], Collective] = {}
        bounds = np.flatnonzero(rows["match"][1:] != rows["match"][:-1]) + 1
        for part in np.split(np.arange(len(order)), bounds) if len(order) else ():
            key = int(rows["name"][part[0]]), int(rows["group"][part[0]])
            tables.setdefault(key, Collective()).add({name: column[part] for name, column in rows.items()})
        last = sum((table.last for table in tables.values()), Counter[int]())
        return [
            {"name": text(name), "group": text(group), **table.row()} for (name, group), table in tables.items()
        ], last


@dataclass
class Collective:
    """All collectives of one name and group: those with the same sizes are matched by their order on each rank."""

    begins: list[Ints] = field(default_factory=list)  # last start - first start
    ends: list[Ints] = field(default_factory=list)
    unmatched: int = 0
    ranks: int = 0
    worst: int = -1
    worst_rank: int = 0
    last: Counter[int] = field(default_factory=Counter)

    def add(self, rows: EventColumns) -> None:
        """Add collectives with the same sizes, sorted by rank and time."""
        ranks, counts = np.unique(rows["rank"], return_counts=True)
        if len(ranks) < 2 or counts.min() < counts.max():
            self.unmatched += len(rows["rank"])
            return
        start, end = (rows[key].reshape(len(ranks), -1) for key in ("start", "end"))
        begin = start.max(axis=0) - start.min(axis=0)
        late = ranks[start.argmax(axis=0)]
        self.begins.append(begin)
        self.ends.append(end.max(axis=0) - end.min(axis=0))
        self.ranks = max(self.ranks, len(ranks))
        self.last.update(late[begin > 0].tolist())
        if begin.max() > self.worst:
            self.worst, self.worst_rank = int(begin.max()), int(late[begin.argmax()])

    def row(self) -> FigureRow:
        begin, end = (summary(np.concatenate((np.empty(0, np.int64), *parts))) for parts in (self.begins, self.ends))
        counts = {"ranks": self.ranks, "matched": begin["count"], "unmatched": self.unmatched}
        return counts | {"begin": begin, "end": end, "worst_rank": self.worst_rank}


def kinds_of(rows: EventColumns, work: RankWork) -> FigureRow:
    """Return the sums of the work of GPUs by kind, and the time of each combination of kinds."""
    starts, ends, covering = pieces(work.compute, work.communication, work.copies)
    times = [int((ends - starts)[covering == chosen].sum()) if chosen else 0 for chosen in range(1 << len(_KINDS))]
    kinds = []
    for index, kind in enumerate(_KINDS):
        own = rows["work"] == index + 1
        total = int((rows["end"] - rows["start"])[own].sum())
        time = sum(time for chosen, time in enumerate(times) if chosen >> index & 1)
        kinds.append({"kind": kind, "count": int(own.sum()), "total": total, "time": time, "alone": times[1 << index]})
    sets = [[kind for index, kind in enumerate(_KINDS) if chosen >> index & 1] for chosen in range(len(times))]
    overlaps = [{"kinds": names, "time": time} for names, time in zip(sets, times, strict=True) if len(names) > 1]
    start, end, busy = int(rows["start"].min()), int(rows["end"].max()), sum(times)
    found = {"start": start, "end": end, "kinds": kinds, "overlaps": overlaps}
    return found | {"duration": end - start, "busy": busy, "idle": end - start - busy}
