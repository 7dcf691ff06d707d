"""The recorded jobs of a pipeline: stages, lines of ranks, and which receive belongs to which send.

A line is a set of ranks with each stage once; replicas of a stage (data parallel copies) are in different lines,
without transfers between lines. The position of a rank in its line is its lowest global stage. A send and a receive
match if line, iteration, direction, lower global stage and micro-batch are equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from fastdispatch import _core
from fastdispatch.read.arrays import Bools, Ints
from fastdispatch.read.clock_maps import ClockMap
from fastdispatch.read.schedule_jobs import KINDS, LM, OPT, RA, RD, RG, SA, SG, B, F, W

#: Kinds in addition to those of schedules: others, the iteration itself, and transfers of unknown direction.
OTHER, WHOLE, SEND, RECEIVE = range(len(KINDS), len(KINDS) + 4)
_WORDS = {"LOAD": LM, "FORWARD": F, "BACKWARD": B, "REDUCE": RD, "OPTIMIZER": OPT, "ITER": WHOLE}
_WORDS |= {"SEND": SEND, "RECEIVE": RECEIVE, "RECV": RECEIVE} | {name: kind for kind, name in enumerate(KINDS)}

#: Flags of recorded jobs (docs/formats/recording.md), and those here: posted, fused, open, failed.
_EVAL, _FLAGS = 2, {8: 1, 16: 2, 4: 8}

#: Stages above are damage; so are times after about a year.
_MOST_STAGE, _MOST_TIME = (1 << 15) - 1, 1 << 55
_TYPES = {
    "jobs": "at u4,row u4,iteration i4,kind u1,flags u1,stage i4,peer i4,micro_batch i4,buffer i4,bytes u8,start i8,"
    "end i8,other i4",
    "ranks": "rank u4,stage i4,line u4,data i4,model i4,open u4,killed ?,moved_ns i8,unsure_ns i8,first u4,end u4",
}


class PipelineRank(NamedTuple):
    """Facts about a rank other than its jobs; -1: unknown."""

    rank: int
    position: int = -1
    data: int = -1
    model: int = -1
    clock: ClockMap = ClockMap()
    unsure: int = -1
    killed: bool = False

    @classmethod
    def of(cls, rank: int, coordinates: object, clock: ClockMap, **more: Any) -> PipelineRank:
        known = coordinates if isinstance(coordinates, dict) else {}

        def number(name: str) -> int:
            each = known.get(name)
            return each if isinstance(each, int) and 0 <= each <= _MOST_STAGE else -1

        return cls(rank, number("pipe"), number("data"), number("model"), clock, **more)


class RankJobs:
    """The jobs of a rank, in the recorded order, as arrays (``_core.Trace.arrays``)."""

    def __init__(self, trace: _core.Trace, index: int) -> None:
        columns = trace.arrays("jobs", index) | trace.arrays("job_slices", index)
        named = [_WORDS.get(name.upper(), OTHER) for name in columns.pop("kind")]
        self.kind: Ints = np.array(named, np.int64)
        self.columns = {name: np.asarray(column) for name, column in columns.items()}
        self.count = len(named)

    @property
    def moves(self) -> bool:
        """Whether a job sends or receives."""
        return bool((_moves(self.kind) | (self.kind >= SEND)).any())

    def _number(self, name: str) -> Ints:
        """Return a number that is stored plus 1."""
        return self.columns[name].astype(np.int32).astype(np.int64) - 1

    def _on_gpu(self) -> bool:
        """Whether the times of the computations are those of the GPU."""
        computes = (self.kind >= F) & (self.kind <= W)
        return bool(computes.any() and (self.columns["gpu_duration"][computes] > 0).all())

    def table(self, at: int, clock: ClockMap, counts: dict[str, int]) -> dict[str, Ints]:
        """Return the jobs of the pipeline, on the common clock. Add up ``evals`` and ``unknown``."""
        own = self.columns
        evaluates = own["flags"] & _EVAL != 0
        counts["evals"] += int(evaluates.sum())
        kept = np.flatnonzero(~evaluates & (self.kind != WHOLE))
        counts["unknown"] += int((self.kind[kept] == OTHER).sum())
        on_gpu = (own["gpu_duration"] > 0) & self._on_gpu()
        start = np.where(on_gpu, own["gpu_start"], own["start"])
        end = start + np.where(on_gpu, own["gpu_duration"], own["duration"])
        step = own["step"].astype(np.int32)
        stage, peer = self._number("stage"), self._number("peer")
        flags = sum(np.where(own["flags"] & bit != 0, flag, 0) for bit, flag in _FLAGS.items())
        made = {
            "at": np.full(self.count, at),
            "row": np.arange(self.count),
            "iteration": np.where(own["iteration"] != 0, self._number("iteration"), step),
            "kind": self.kind,
            "flags": flags + np.where(own["open"], 4, 0),
            "stage": np.where(stage > _MOST_STAGE, -1, stage),
            "peer": np.where(peer > _MOST_STAGE, -1, peer),
            "micro_batch": self._number("micro_batch"),
            "buffer": self._number("buffer"),
            "bytes": own["bytes"],
            "start": _common(start, clock),
            "end": _common(end, clock),
        }
        return {name: column[kept] for name, column in made.items()}


def _common(times: Any, clock: ClockMap) -> Ints:
    """Convert to the common clock, within a year: sums do not overflow."""
    own = np.minimum(times, np.uint64(_MOST_TIME)).astype(np.int64)
    if clock.drift:
        moved = [clock(time) for time in own.tolist()]
    else:
        moved = own + min(max(clock.offset, -4 * _MOST_TIME), 4 * _MOST_TIME)
    return np.clip(np.array(moved, np.int64), -_MOST_TIME, _MOST_TIME)


def _moves(kind: Ints) -> Bools:
    return (kind >= SA) & (kind <= RG)


def pipeline_jobs(ranks: Sequence[tuple[RankJobs, PipelineRank]]) -> dict[str, Any]:
    """Return the jobs of a pipeline.

    ``jobs`` by rank, iteration and start, with ``other``, the row of the other end of a transfer (-1: none; if one is
    posted in one job and awaited in another, both have the first job of the other end), and ``ranks``, those with jobs,
    are columns of numbers. ``alone``: rows of transfers without another end. Counts: stages, chunks (the most of a
    rank), globals, lines; guessed (no job states a stage: they are the ranks in order), evals (skipped jobs of
    evaluations), unknown (of other kinds), undirected (transfers without the stage at the other end), matched, local
    (matched inside a rank). Flags of jobs: 1 posted, 2 fused with its neighbour, 4 open, 8 ended by an exception.
    """
    counts = {"evals": 0, "unknown": 0}
    used = [(jobs, known) for jobs, known in ranks if jobs.count]
    tables = [jobs.table(at, known.clock, counts) for at, (jobs, known) in enumerate(used)]
    made = _Pipeline([known for _, known in used], tables)
    made.settle()
    matched, local, alone = made.match()
    counts |= {"stages": made.stages, "chunks": made.chunks, "globals": made.globals, "lines": made.lines}
    counts |= {"guessed": made.guessed, "undirected": made.undirected, "matched": matched, "local": local}
    return counts | {"alone": alone, "jobs": _arrays("jobs", made.jobs), "ranks": _arrays("ranks", made.rank_table())}


def _arrays(name: str, columns: dict[str, Any]) -> dict[str, Any]:
    types = (each.split() for each in _TYPES[name].split(","))
    return {column: np.array(columns[column], kind).data for column, kind in types}


class _Pipeline:
    def __init__(self, ranks: list[PipelineRank], tables: list[dict[str, Ints]]) -> None:
        names = [each.split()[0] for each in _TYPES["jobs"].split(",")[:-1]]
        none = [np.empty(0, np.int64)]
        self.jobs = {name: np.concatenate(none + [table[name] for table in tables]) for name in names}
        self.ranks = ranks
        self.firsts = np.cumsum([0, *(len(table["at"]) for table in tables)])
        self.position = [known.position for known in ranks]
        self.line: list[int] = []
        self.guessed = False
        self.undirected = 0

    def _rows(self, at: int) -> slice:
        return slice(self.firsts[at], self.firsts[at + 1])

    def settle(self) -> None:
        """Derive missing facts and sort."""
        self._fill_stages()
        self._count_stages()
        self._aim_transfers()
        self._find_lines()
        jobs = self.jobs
        order = np.lexsort((jobs["row"], jobs["start"], jobs["iteration"], jobs["at"]))
        self.jobs = {name: column[order] for name, column in jobs.items()}

    def _fill_stages(self) -> None:
        """Set the stage of jobs without one to the only stage of their rank."""
        stage = self.jobs["stage"]
        self.guessed = bool(len(stage)) and bool((stage < 0).all()) and max(self.position) < 0
        for at in range(len(self.ranks)):
            mine = stage[self._rows(at)]
            stated = np.unique(mine[mine >= 0])
            only = int(stated[0]) if len(stated) else at if self.guessed else self.position[at]
            if len(stated) < 2 and only >= 0:
                mine[mine < 0] = only

    def _count_stages(self) -> None:
        """A rank may be missing, so the number of stages is a minimum."""
        stage = self.jobs["stage"]
        for at in range(len(self.ranks)):
            mine = stage[self._rows(at)]
            if self.position[at] < 0:
                self.position[at] = int(mine[mine >= 0].min(initial=_MOST_STAGE + 1))
                self.position[at] = -1 if self.position[at] > _MOST_STAGE else self.position[at]
        self.stages = max(self.position, default=-1) + 1
        self.globals = int(max(stage.max(initial=-1), self.jobs["peer"].max(initial=-1))) + 1
        self.chunks = -(-self.globals // self.stages) if self.stages else 1
        self.stages = max(self.stages, -(-self.globals // self.chunks) if self.chunks else 0)

    def _aim_transfers(self) -> None:
        """Set the directions of transfers that do not state them."""
        kind, stage, peer = (self.jobs[name] for name in ("kind", "stage", "peer"))
        last = self.globals - 1
        words, gives = (kind == SEND) | (kind == RECEIVE), kind == SEND
        only = np.where(stage == 0, 1, np.where(stage == last, last - 1, -1))
        aimed = np.where((peer < 0) & (stage >= 0) & (last > 0), only, peer)
        lost = words & ((aimed < 0) | (stage < 0) | (aimed == stage))
        self.undirected = int(lost.sum())
        up = aimed > stage
        directed = np.where(up == gives, np.where(gives, SA, RA), np.where(gives, SG, RG))
        untold = _moves(kind) & (peer < 0) & (stage >= 0)
        above = np.where(stage < last, stage + 1, -1)
        beside = np.where((kind == SA) | (kind == RG), above, stage - 1)
        self.jobs["peer"] = np.where(untold, beside, np.where(words & ~lost, aimed, peer))
        self.jobs["kind"] = np.where(lost, OTHER, np.where(words, directed, kind))

    def _find_lines(self) -> None:
        """Ranks that differ only in the pipeline coordinate; without coordinates, the k-th rank of each position is in
        line k."""
        known = all(each.data >= 0 for each in self.ranks)
        lines: dict[object, int] = {}
        for each, position in zip(self.ranks, self.position, strict=True):
            if known:
                self.line.append(lines.setdefault((each.data, each.model), len(lines)))
            else:
                self.line.append(lines.get(position, 0))
                lines[position] = self.line[-1] + 1
        self.lines = max(self.line, default=-1) + 1

    def match(self) -> tuple[int, int, list[int]]:
        """Set ``other``; return the numbers of transfers with both ends and of those inside a rank, and the jobs
        without the other end. A second send or receive of the same transfer stays alone, unless the first is posted."""
        jobs = self.jobs
        kind, moves = jobs["kind"], _moves(jobs["kind"])
        known = (jobs["micro_batch"] >= 0) & (jobs["stage"] >= 0) & (jobs["peer"] >= 0)
        rows = np.flatnonzero(moves & known)
        gives, gradient = (kind == SA) | (kind == SG), kind >= SG
        line = np.array(self.line, np.int64)[jobs["at"]]
        lower = np.minimum(jobs["stage"], jobs["peer"])
        columns = (jobs["iteration"], jobs["micro_batch"], line, lower, gradient)
        keys = np.stack([column[rows] for column in columns], axis=1)
        groups = np.unique(keys, axis=0, return_inverse=True)[1].reshape(-1)
        sides, first, inverse = np.unique(2 * groups + gives[rows], return_index=True, return_inverse=True)
        of_side = np.full(2 * len(keys) + 2, -1)
        of_side[sides] = rows[first]
        firsts, other = np.full((2, len(moves)), -1)
        firsts[rows] = rows[first][inverse.reshape(-1)]
        other[rows] = of_side[2 * groups + ~gives[rows]]
        is_first = firsts == np.arange(len(moves))
        other[~is_first & (jobs["flags"][firsts] & 1 == 0)] = -1
        jobs["other"] = other
        pairs = is_first & gives & (other >= 0)
        local = jobs["at"][other[pairs]] == jobs["at"][pairs]
        return int(pairs.sum()), int(local.sum()), np.flatnonzero(moves & (other < 0)).tolist()

    def rank_table(self) -> dict[str, Any]:
        opened = [int((self.jobs["flags"][self._rows(at)] & 4 != 0).sum()) for at in range(len(self.ranks))]
        return {
            "rank": [known.rank for known in self.ranks],
            "stage": self.position,
            "line": self.line,
            "data": [known.data for known in self.ranks],
            "model": [known.model for known in self.ranks],
            "open": opened,
            "killed": [known.killed for known in self.ranks],
            "moved_ns": [known.clock.offset for known in self.ranks],
            "unsure_ns": [known.unsure for known in self.ranks],
            "first": self.firsts[:-1],
            "end": self.firsts[1:],
        }
