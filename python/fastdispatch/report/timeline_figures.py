"""The model of timeline statistics: printed, drawn, and as JSON
(``docs/reference/schemas/timeline-stats.schema.json``)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from statistics import fmean, median, pstdev
from typing import Any

SCHEMA = "fastdispatch-timeline-stats/1"

#: A rank is marked as the straggler of a step when its own work takes this much longer than the median of the ranks.
MARKED = 1.1

FigureRow = dict[str, Any]


@dataclass
class Stats:
    """``ranks`` with their total figures, ``stages`` with those of their ranks, ``steps`` of each rank, and the
    comparison of ranks per step in ``stragglers``. ``gpus``, ``streams`` and ``launches`` describe the work
    of GPUs. Times are nanoseconds from ``base_ns``."""

    base_ns: int | None
    relative_error: float
    files: list[FigureRow]
    ranks: list[FigureRow]
    stages: list[FigureRow]
    steps: list[FigureRow]
    stragglers: list[FigureRow]
    jobs: list[FigureRow]
    names: list[FigureRow]
    collectives: list[FigureRow]
    gpus: list[FigureRow]
    streams: list[FigureRow]
    launches: list[FigureRow]
    bounds: FigureRow

    def as_json(self) -> FigureRow:
        return {"schema": SCHEMA, "unit": "ns", **vars(self)}


def stats(made: FigureRow) -> Stats:
    """Build the model from the result of ``_core.timeline_stats``."""
    for row in (*made["names"], *made["jobs"], *made["collectives"], *made["ranks"], *made["files"]):
        for key in row.keys() & {"name", "category", "type", "group", "steps_of", "stray"}:
            row[key] = unescaped(row[key] or "")
    for row in (*made["names"], *made["jobs"]):
        row["mean"] = row["total"] / row["count"]
    for spread in spreads(made):
        spread["mean"] = spread["total"] / spread["count"] if spread["count"] else 0.0
    for row in made["steps"]:
        complete(row)
    whole = {row.pop("rank"): row for row in made["steps"] if row["step"] is None}
    for row in whole.values():
        del row["step"]
    steps = [row for row in made["steps"] if "step" in row]
    number_repeats(steps)
    steps.sort(key=itemgetter("repeat", "step", "rank"))
    stragglers = [straggler(list(rows)) for _, rows in groupby(steps, key=itemgetter("repeat", "step"))]
    marked = [row["slowest"] for row in stragglers if row["marked"]]
    ranks = sorted(made["ranks"], key=itemgetter("rank"))
    for row in ranks:
        row |= whole[row["rank"]] | {"straggler": marked.count(row["rank"])}
    return Stats(
        base_ns=made["base_ns"],
        relative_error=made["error"],
        files=made["files"],
        ranks=ranks,
        stages=by_stage(ranks, made["jobs"]),
        steps=steps,
        stragglers=stragglers,
        jobs=sorted(
            made["jobs"], key=lambda row: [-1 if row[key] is None else row[key] for key in JOB] + [row["type"]]
        ),
        names=sorted(made["names"], key=lambda row: (-row["total"], row["category"], row["name"])),
        collectives=sorted(made["collectives"], key=itemgetter("group", "name")),
        gpus=sorted(map(kinds, made["gpus"]), key=itemgetter("rank")),
        streams=sorted(
            map(idle, made["streams"]), key=lambda row: [-1 if row[key] is None else row[key] for key in STREAM]
        ),
        launches=sorted(made["launches"], key=itemgetter("rank")),
        bounds={key: made[key] for key in BOUNDS},
    )


JOB = ("rank", "stage", "step")
STREAM = ("rank", "device", "stream")
SHARES = ("duration", "busy", "compute", "communication", "exposed", "overlap", "idle", "copies")
BOUNDS = (
    "gap_ns",
    "closed_ns",
    "steps_left_out",
    "values_left_out",
    "collectives_left_out",
    "gpu_events_left_out",
)


def unescaped(text: str) -> str:
    """Decode the inside of a JSON string; return other text unchanged."""
    if "\\" not in text:
        return text
    try:
        return str(json.loads(f'"{text}"', strict=False))
    except ValueError:
        return text


def complete(row: FigureRow) -> None:
    row["duration"] = row["end"] - row["start"]
    row["idle"] = row["duration"] - row["busy"]
    row["overlap"] = row["communication"] - row["exposed"]


def spreads(made: FigureRow) -> Iterator[FigureRow]:
    """Yield the figures inside of rows."""
    for rows, keys in (
        ("collectives", ("begin", "end")),
        ("launches", ("delay", "call")),
    ):
        for row in made[rows]:
            yield from (row[key] for key in keys)


def kinds(row: FigureRow) -> FigureRow:
    """Turn the times of exactly these kinds, by sets, into times of each kind and of each overlap."""
    times, of = row.pop("times"), row["kinds"]
    for index, kind in enumerate(of):
        kind["time"] = sum(time for chosen, time in enumerate(times) if chosen >> index & 1)
        kind["alone"] = times[1 << index]
    sets = [[index for index in range(len(of)) if chosen >> index & 1] for chosen in range(len(times))]
    row["overlaps"] = [
        {"kinds": [of[index]["kind"] for index in places], "time": time}
        for places, time in zip(sets, times, strict=True)
        if len(places) > 1
    ]
    row["duration"] = row["end"] - row["start"]
    row["busy"] = sum(times)
    row["idle"] = row["duration"] - row["busy"]
    return row


def idle(row: FigureRow) -> FigureRow:
    row["duration"] = row["end"] - row["start"]
    row["idle"] = row["duration"] - row["busy"]
    return row


def by_stage(ranks: list[FigureRow], jobs: list[FigureRow]) -> list[FigureRow]:
    """Group ranks with jobs of the same pipeline stages."""
    stages: dict[int, set[int]] = {}
    for job in jobs:
        if job["stage"] is not None:
            stages.setdefault(job["rank"], set()).add(job["stage"])
    groups: dict[tuple[int, ...], list[FigureRow]] = {}
    for row in ranks:
        if row["rank"] in stages:
            groups.setdefault(tuple(sorted(stages[row["rank"]])), []).append(row)
    return [
        {"stages": list(of), "ranks": [row["rank"] for row in rows], **{key: total(rows, key) for key in SHARES}}
        for of, rows in sorted(groups.items())
    ]


def number_repeats(steps: list[FigureRow]) -> None:
    """Number the steps of a rank that have the same number, in their order: 0 for the first."""
    times: Counter[tuple[int, int]] = Counter()
    for row in steps:
        row["repeat"] = times[row["rank"], row["step"]]
        times[row["rank"], row["step"]] += 1


def straggler(rows: list[FigureRow]) -> FigureRow:
    """Find the rank that ended last, and the rank with most own work, compared with the others."""
    ends, work = [row["end"] for row in rows], [own(row) for row in rows]
    last = max(rows, key=lambda row: (row["end"], -row["rank"]))
    slowest = max(rows, key=lambda row: (own(row), -row["rank"]))
    spread = pstdev(work)
    return {
        "step": rows[0]["step"],
        "repeat": rows[0]["repeat"],
        "ranks": len(rows),
        "duration": fmean(row["duration"] for row in rows),
        "last": last["rank"],
        "late": last["end"] - median(ends),
        "slowest": slowest["rank"],
        "own": own(slowest),
        "own_median": median(work),
        "z": (own(slowest) - fmean(work)) / spread if spread else 0.0,
        "marked": len(rows) > 1 and own(slowest) > MARKED * median(work),
    }


def own(row: FigureRow) -> int:
    """Return the time of own work: busy time without exposed communication."""
    return int(row["busy"] - row["exposed"])


def total(rows: Iterable[FigureRow], key: str) -> int:
    return sum(row[key] for row in rows)
