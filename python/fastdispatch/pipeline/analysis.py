"""The analysis of the recorded jobs of a pipeline, as columns of plain values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fastdispatch._core import Error
from fastdispatch.pipeline.critical_path import CriticalPath
from fastdispatch.pipeline.idle_time import OPEN, POSTED, IdleTime, Jobs, idle_time, in_flight
from fastdispatch.pipeline.measured_schedule import MeasuredSchedule
from fastdispatch.pipeline.sentences import PARTS
from fastdispatch.read.arrays import Ints
from fastdispatch.read.schedule_jobs import KINDS
from fastdispatch.read.trace import Columns

_COUNTS = ("stages", "chunks", "lines", "guessed", "evals", "unknown", "undirected", "matched", "local")


def analysis(
    made: dict[str, Any],
    *,
    schedule: str | None = None,
    iterations: tuple[int, int] | None = None,
    layers: Sequence[int] | None = None,
    weights: Sequence[float] | None = None,
) -> dict[str, Any]:
    """Return counts and tables of the jobs that ``read.pipeline_jobs`` returns. ``schedule``: the one that the engine
    states; ``layers``: the first layer of each global stage, and one past the last, with their ``weights``."""
    jobs = Jobs(made)
    idle = idle_time(jobs, iterations)
    step = idle.spans.drawn
    if iterations and step < 0 and len(jobs.iterations):
        first, last = jobs.iterations[[0, -1]]
        chosen = f"no iteration from {iterations[0]} up to {iterations[1]} was recorded whole"
        raise Error(f"{chosen}: there are {first} to {last}")
    line = _longest_line(idle) if step >= 0 else 0
    path = CriticalPath(idle, line, step) if step >= 0 else None
    measured = MeasuredSchedule(idle, schedule, layers, weights)
    tables = _Tables(idle, path)
    opened = [row for row, flags in enumerate(jobs.flags.tolist()) if flags & OPEN]
    return {
        **{name: made[name] for name in _COUNTS},
        "early": jobs.early,
        "drawn_line": line,
        "drawn": int(jobs.iterations[step]) if step >= 0 else None,
        "ranks": _ranks(jobs),
        "shares": _shares(idle),
        "waits": idle.awaited(),
        "intervals": tables.intervals(),
        "path": tables.path(),
        "jobs": tables.jobs(tables.drawn),
        "open": tables.jobs(opened),
        "alone": tables.jobs(made["alone"]),
        "schedule": measured.about(),
        "what_if": measured.changes(),
    }


def _longest_line(idle: IdleTime) -> int:
    """Return the line with the longest time in the drawn iteration."""
    jobs, spans = idle.jobs, idle.spans
    cells = np.arange(len(jobs.line)) * len(jobs.iterations) + spans.drawn
    length = np.where(spans.chosen[cells], spans.end[cells] - spans.start[cells], -1)
    return int(jobs.line[length.argmax()])


def _ranks(jobs: Jobs) -> Columns:
    table = {name: column.tolist() for name, column in jobs.ranks.items()}
    first, end = table.pop("first"), table.pop("end")
    return table | {"jobs": [past - row for row, past in zip(first, end, strict=True)]}


def _shares(idle: IdleTime) -> Columns:
    """Return the figures of each rank in each iteration in which it had jobs."""
    jobs, spans = idle.jobs, idle.spans
    passes, most = in_flight(jobs)
    cells = np.flatnonzero(np.diff(jobs.cells))
    at, step = np.divmod(cells, max(len(jobs.iterations), 1))
    columns = {
        "rank": jobs.ranks["rank"][at],
        "iteration": jobs.iterations[step],
        "start": spans.start[cells],
        "end": spans.end[cells],
        "in_flight": passes[cells],
        "bytes": most[cells],
        "whole": spans.whole[cells],
        "chosen": spans.chosen[cells],
        **dict(zip(PARTS, idle.parts[cells].T, strict=True)),
    }
    return {name: column.tolist() for name, column in columns.items()}


class _Tables:
    """The tables of the drawn iteration. References to its jobs are rows of their table; -1: none."""

    def __init__(self, idle: IdleTime, path: CriticalPath | None) -> None:
        self._idle, self._path = idle, path
        step, ranks = idle.spans.drawn, len(idle.jobs.line)
        #: The jobs of the drawn iteration.
        self.drawn = [row for at in range(ranks) for row in idle.jobs.jobs_of(at, step)] if path else []
        self._row = np.full(idle.jobs.count + 1, -1)
        self._row[self.drawn] = np.arange(len(self.drawn))
        self._rank = np.append(idle.jobs.ranks["rank"].astype(np.int64), -1)

    def intervals(self) -> Columns:
        pieces, step = self._idle.pieces, self._idle.spans.drawn
        kept = pieces.cell % max(len(self._idle.jobs.iterations), 1) == step
        at = pieces.cell[kept] // max(len(self._idle.jobs.iterations), 1)
        columns = (pieces.start[kept], pieces.end[kept], pieces.job[kept], pieces.part[kept], pieces.rank[kept])
        return self._spans(at, *columns)

    def path(self) -> Columns:
        pieces = np.array(self._path.pieces if self._path else [], np.int64).reshape(-1, 5)
        start, end, job, at, part = pieces.T
        return self._spans(at, start, end, job, part, np.full(len(at), -1))

    def _spans(self, at: Ints, start: Ints, end: Ints, job: Ints, part: Ints, rank: Ints) -> Columns:
        return {
            "rank": self._rank[at].tolist(),
            "start": start.tolist(),
            "end": end.tolist(),
            "part": [PARTS[each] for each in part.tolist()],
            "job": self._row[job].tolist(),
            "waits_for": self._rank[rank].tolist(),
        }

    def jobs(self, rows: Sequence[int]) -> Columns:
        jobs, path = self._idle.jobs, self._path
        at = np.array(rows, np.int64)
        table = {
            "rank": self._rank[jobs.at[at]].tolist(),
            "row": jobs.row[at].tolist(),
            "iteration": jobs.iterations[jobs.cell[at] % max(len(jobs.iterations), 1)].tolist(),
            "kind": [KINDS[kind] if kind < len(KINDS) else "OTHER" for kind in jobs.kind[at].tolist()],
        }
        for name in ("stage", "peer", "micro_batch", "buffer", "bytes", "start", "ready", "end"):
            table[name] = getattr(jobs, name)[at].tolist()
        table["slack"] = [path.slack.get(row, 0) if path else 0 for row in rows]
        table["other"] = self._row[jobs.other[at]].tolist() if rows is self.drawn else [-1] * len(rows)
        table["critical"] = [path is not None and row in path.critical for row in rows]
        table["posted"] = ((jobs.flags[at] & POSTED) != 0).tolist()
        table["open"] = ((jobs.flags[at] & OPEN) != 0).tolist()
        return table
