"""Timeline of the page: lanes of threads, asynchronous work, GPU streams and jobs of all ranks, on one clock."""

from collections.abc import Sequence
from typing import Any

from fastdispatch._core import Error
from fastdispatch.pipeline.report import report, rows_of
from fastdispatch.read.clock_alignment import Aligner
from fastdispatch.read.clock_maps import ClockMap
from fastdispatch.read.trace import Columns, Trace

#: Maximum number of slices of all ranks; the longest are kept.
MOST = 200_000

_JOB = ("kind", "step", "micro_batch", "stage", "chunk", "peer", "open")


class _Lanes:
    """Tables of the block: lanes and slices. Starts are relative to the previous slice, which keeps them small; the
    first of a lane is relative to the lane's ``base``."""

    def __init__(self) -> None:
        self.lanes: Columns = {name: [] for name in ("rank", "kind", "name", "base", "size")}
        self.slices: Columns = {
            name: [] for name in ("start", "duration", "depth", "context", "job", "open", "launch", "rank")
        }
        self.place: dict[tuple[int, int], int] = {}  # (rank, row of its calls) -> slice

    def add(self, rank: int, kind: str, name: str, rows: Sequence[dict[str, Any]]) -> None:
        """Rows have start, duration, depth and context, and may have job, open, launch and call (a row)."""
        if not rows:
            return
        rows = sorted(rows, key=lambda row: (row["start"], row["depth"]))
        _append(self.lanes, rank, kind, name, rows[0]["start"], len(rows))
        place = len(self.slices["start"])
        self.place.update(((rank, row["call"]), at) for at, row in enumerate(rows, place) if "call" in row)
        starts = [row["start"] for row in rows]
        self.slices["start"] += [start - before for before, start in zip([starts[0], *starts], starts, strict=False)]
        for title in ("duration", "depth", "context"):
            self.slices[title] += [row[title] for row in rows]
        for title in ("job", "launch"):
            self.slices[title] += [row.get(title, -1) for row in rows]
        self.slices["open"] += [int(row.get("open", False)) for row in rows]
        self.slices["rank"] += [rank] * len(rows)


def _append(table: Columns, *row: Any) -> None:
    for column, value in zip(table.values(), row, strict=True):
        column.append(value)


def block_of(trace: Trace, most: int) -> tuple[dict[str, Any], dict[str, Columns]] | None:
    """Return values and tables of the block "data-timeline"; None without a timeline."""
    tables = ("events", "gpu_events", "jobs")
    if not any(len(trace.core.arrays(name, at)["start"]) for at in range(len(trace.ranks)) for name in tables):
        return None
    from fastdispatch.page.timeline_calls import calls_of  # numpy

    clocks = Aligner("auto").clocks_of(trace.core).ranks
    lanes = _Lanes()
    flows: Columns = {"from": [], "to": []}
    jobs: Columns = {name: [] for name in ("rank", *_JOB)}
    steps: Columns = {name: [] for name in ("rank", "number", "start", "end")}
    capped = {"slices": 0, "arrows": 0}
    for index, rank in enumerate(trace.ranks):
        clock = clocks[index].clock
        found = calls_of(trace.core, index, most // len(trace.ranks))
        _add_jobs(lanes, jobs, trace, index, clock)
        _add_threads(lanes, index, rank, found.rows, clock)
        _add_streams(lanes, index, trace.core.columns("gpu_events", index), clock)
        for flow in found.flows:
            _append(flows, *(lanes.place[index, end] for end in flow))
        latest = rank["latest_steps"]
        for number, begin, end in zip(latest["number"], latest["begin"], latest["end"], strict=True):
            _append(steps, index, number, clock(begin), clock(end))
        capped["slices"] += found.left_out
        capped["arrows"] += found.flows_left_out
    if not lanes.slices["start"]:
        return None
    unsure = [None if each.uncertainty < 0 else each.uncertainty for each in clocks]
    methods = zip((each.method for each in clocks), unsure, strict=True)
    values: dict[str, Any] = {"clocks": [{"method": method, "uncertainty_ns": ns} for method, ns in methods]}
    values["capped"] = {f"shorter {what} of the timeline": n for what, n in capped.items() if n}
    made = {"lanes": lanes.lanes, "slices": lanes.slices, "flows": flows, "jobs": jobs, "steps": steps}
    return values, made


def findings_of(trace: Trace) -> dict[str, list[str]]:
    """Return the sentences of ``pipeline report`` for a recording with jobs: ``findings``, and ``notes`` on their
    limits."""
    if not any(trace.core.columns("jobs", index)["kind"] for index in range(len(trace.ranks))):
        return {"findings": [], "notes": []}
    try:
        made = report(trace)
        return {"findings": made.sentences, "notes": made.notes}
    except Error as error:
        return {"findings": [], "notes": [f"no report of the pipeline: {error}"]}


def _add_jobs(lanes: _Lanes, jobs: Columns, trace: Trace, index: int, clock: ClockMap) -> None:
    """Add a lane per stage: the Gantt chart of a pipeline."""
    by_stage: dict[int, list[dict[str, Any]]] = {}
    for row in rows_of(trace.core.columns("jobs", index)):
        job = {"start": clock(row["start"]), "depth": 0, "job": len(jobs["rank"])}
        by_stage.setdefault(row["stage"], []).append(row | job)
        _append(jobs, index, *(row[name] for name in _JOB[:-1]), int(row["open"]))
    for stage, found in sorted(by_stage.items()):
        lanes.add(index, "jobs", f"stage {stage}" if stage >= 0 else "jobs", _stacked(found))


def _stacked(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Place each slice in the first row that is free at its start."""
    free: list[int] = []
    for row in sorted(rows, key=lambda row: row["start"]):
        depth = next((at for at, end in enumerate(free) if end <= row["start"]), len(free))
        if depth == len(free):
            free.append(0)
        free[depth] = row["start"] + row["duration"]
        row["depth"] = depth
    return rows


def _add_threads(lanes: _Lanes, index: int, rank: dict[str, Any], rows: list[dict[str, Any]], clock: ClockMap) -> None:
    calls: dict[int, list[dict[str, Any]]] = {}
    alone: dict[int, list[dict[str, Any]]] = {}
    for number, row in enumerate(rows):
        row["start"], row["call"] = clock(row["start"]), number
        (alone if row["async"] else calls).setdefault(row["thread"], []).append(row)
    for thread, role in enumerate(rank["threads"]["role"]):
        lanes.add(index, "thread", role, calls.get(thread, []))
        lanes.add(index, "asynchronous", role, _stacked(alone.get(thread, [])))


def _add_streams(lanes: _Lanes, index: int, gpu: Columns, clock: ClockMap) -> None:
    streams: dict[tuple[int, int], list[dict[str, Any]]] = {}
    for row in rows_of(gpu):
        row |= {"start": clock(row["start"]), "launch": clock(row["host"]), "depth": 0}
        streams.setdefault((row["device"], row["stream"]), []).append(row)
    for (device, stream), rows in sorted(streams.items()):
        lanes.add(index, "stream", f"GPU {device} stream {stream}", _stacked(rows))
