"""Timeline figures as plain values: printed, drawn, as JSON (``docs/reference/schemas/timeline-stats.schema.json``)."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from statistics import fmean, median, pstdev
from typing import Any

SCHEMA = "fastdispatch-timeline-stats/1"

#: A rank is marked as the straggler of a step when its own work takes this much longer than the median of the ranks.
MARKED = 1.1

Row = dict[str, Any]


@dataclass
class Stats:
    """``ranks`` with the figures of all their time, ``stages`` with those of their ranks, ``steps`` of each rank, and
    what the ranks of a step have to do with each other in ``stragglers``. Times are nanoseconds from ``base_ns``."""

    base_ns: int | None
    relative_error: float
    files: list[Row]
    ranks: list[Row]
    stages: list[Row]
    steps: list[Row]
    stragglers: list[Row]
    jobs: list[Row]
    categories: list[Row]
    names: list[Row]
    collectives: list[Row]
    bounds: Row

    def as_json(self) -> Row:
        return {"schema": SCHEMA, "unit": "ns", **vars(self)}


def stats(made: Row) -> Stats:
    """From what ``_core.timeline_stats`` answers."""
    for row in (*made["names"], *made["categories"], *made["jobs"], *made["collectives"]):
        for key in row.keys() & {"name", "category", "type", "group"}:
            row[key] = unescaped(row[key])
    for row in (*made["names"], *made["categories"], *made["jobs"]):
        row["mean"] = row["total"] / row["count"]
    for row in made["collectives"]:
        for spread in (row["begin"], row["end"]):
            spread["mean"] = spread["total"] / spread["count"] if spread["count"] else 0.0
    for row in made["steps"]:
        complete(row)
    whole = {row.pop("rank"): row for row in made["steps"] if row["step"] is None}
    for row in whole.values():
        del row["step"]
    steps = sorted((row for row in made["steps"] if "step" in row), key=itemgetter("step", "rank"))
    stragglers = [straggler(step, list(rows)) for step, rows in groupby(steps, key=itemgetter("step"))]
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
        categories=sorted(made["categories"], key=lambda row: (row["rank"], -row["total"], row["category"])),
        names=sorted(made["names"], key=lambda row: (-row["total"], row["category"], row["name"])),
        collectives=sorted(made["collectives"], key=itemgetter("group", "name")),
        bounds={key: made[key] for key in BOUNDS},
    )


JOB = ("rank", "stage", "step")
SHARES = ("duration", "busy", "compute", "communication", "exposed", "overlap", "idle", "copies")
BOUNDS = ("gap_ns", "closed_ns", "steps_left_out", "values_left_out", "collectives_left_out")


def unescaped(text: str) -> str:
    """What the inside of a JSON string says; text that is no JSON as it is."""
    if "\\" not in text:
        return text
    try:
        return str(json.loads(f'"{text}"', strict=False))
    except ValueError:
        return text


def complete(row: Row) -> None:
    row["duration"] = row["end"] - row["start"]
    row["idle"] = row["duration"] - row["busy"]
    row["overlap"] = row["communication"] - row["exposed"]


def by_stage(ranks: list[Row], jobs: list[Row]) -> list[Row]:
    """Ranks whose jobs are of the same stages of a pipeline, together."""
    stages: dict[int, set[int]] = {}
    for job in jobs:
        if job["stage"] is not None:
            stages.setdefault(job["rank"], set()).add(job["stage"])
    groups: dict[tuple[int, ...], list[Row]] = {}
    for row in ranks:
        if row["rank"] in stages:
            groups.setdefault(tuple(sorted(stages[row["rank"]])), []).append(row)
    return [
        {"stages": list(of), "ranks": [row["rank"] for row in rows], **{key: total(rows, key) for key in SHARES}}
        for of, rows in sorted(groups.items())
    ]


def straggler(step: int, rows: list[Row]) -> Row:
    """Who ended last, and whose own work took longest, compared with the other ranks."""
    ends, work = [row["end"] for row in rows], [own(row) for row in rows]
    last = max(rows, key=lambda row: (row["end"], -row["rank"]))
    slowest = max(rows, key=lambda row: (own(row), -row["rank"]))
    spread = pstdev(work)
    return {
        "step": step,
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


def own(row: Row) -> int:
    """What a rank does without waiting for others: all busy time but exposed communication."""
    return int(row["busy"] - row["exposed"])


def total(rows: Iterable[Row], key: str) -> int:
    return sum(row[key] for row in rows)
