"""The model of timeline statistics: printed, drawn, and as JSON
(``docs/reference/schemas/timeline-stats.schema.json``)."""

import json
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from statistics import fmean, median, pstdev

from fastdispatch._core import Error
from fastdispatch.read.clock_alignment import Aligner
from fastdispatch.read.paddle_log import as_chrome_json
from fastdispatch.read.pipeline_flows import flows_within
from fastdispatch.read.timeline_inputs import Timelines
from fastdispatch.report.durations import ERROR
from fastdispatch.report.slice_figures import FigureRow, Slices

SCHEMA = "fastdispatch-timeline-stats/1"

#: A rank is marked as the straggler of a step when its own work takes this much longer than the median of the ranks.
MARKED = 1.1
#: Facts about a file.
_FILE = (
    *("file", "used", "rank", "world", "align", "offset_ns", "uncertainty_ns", "events", "lost", "lost_bytes"),
    *("repaired", "unpaired", "timeless", "trouble", "unread"),
)
#: Longer names of ranges are cut.
_NAME = 63


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
    steps_left_out: int

    def as_json(self) -> FigureRow:
        return {"schema": SCHEMA, "unit": "ns", **vars(self)}


def read_stats(
    inputs: list[tuple[str, int]], align: str, ranks: list[int] | None, progress: Callable[[int, int], object] | None
) -> Stats:
    """Read files, each with the rank in its name. Raises Error if one cannot be read, or no slice can be counted."""
    slices = Slices(ranks)
    with as_chrome_json(inputs) as given:
        timelines = Timelines(given, Aligner(align))
        timelines.align()
        for file in timelines.used:
            file.transfers = flows_within(file.path)
        texts = slices.read(timelines.used, progress)
    strays = {"strays": 0, "stray_ns": 0, "stray": ""}
    files = [{name: row[name] for name in _FILE} | strays for row in (file.row() for file in timelines.files)]
    used = [row for row in files if row["used"]]
    if not slices.ranks:
        raise Error("no slices in these traces" if ranks is None else "no slices of these ranks")

    def text(number: int) -> str:
        return unescaped(texts[number])

    for index, row in enumerate(used):
        row["strays"], stray, row["stray_ns"] = slices.strays.get(index, (0, 0, 0))
        row["stray"] = text(stray) if row["strays"] else ""
    jobs, (collectives, last) = slices.jobs(text), slices.collectives(text)
    number_repeats(slices.steps)
    steps = sorted(slices.steps, key=itemgetter("repeat", "step", "rank"))
    stragglers = [straggler(list(rows)) for _, rows in groupby(steps, key=itemgetter("repeat", "step"))]
    marked = Counter(row["slowest"] for row in stragglers if row["marked"])
    by_rank = sorted(slices.ranks, key=itemgetter("rank"))
    for row in by_rank:
        row |= {"straggler": marked[row["rank"]], "began_last": last[row["rank"]]}
        row["steps_of"] = unescaped(texts[row["steps_of"]][:_NAME]) if row["steps_of"] else ""
    return Stats(
        base_ns=timelines.base,
        relative_error=ERROR,
        files=files,
        ranks=by_rank,
        stages=by_stage(by_rank, jobs),
        steps=steps,
        stragglers=stragglers,
        jobs=sorted(jobs, key=lambda row: [-1 if row[key] is None else row[key] for key in JOB] + [row["type"]]),
        names=sorted(slices.names(text), key=lambda row: (-row["total"], row["category"], row["name"])),
        collectives=sorted(collectives, key=itemgetter("group", "name")),
        gpus=sorted(slices.gpus, key=itemgetter("rank")),
        streams=sorted(slices.streams, key=lambda row: [-1 if row[key] is None else row[key] for key in STREAM]),
        launches=sorted(slices.launches, key=itemgetter("rank")),
        steps_left_out=slices.steps_left_out,
    )


JOB = ("rank", "stage", "step")
STREAM = ("rank", "device", "stream")
SHARES = ("duration", "busy", "compute", "communication", "exposed", "overlap", "idle", "copies")


def unescaped(text: str) -> str:
    """Decode the inside of a JSON string; return other text unchanged."""
    if "\\" not in text:
        return text
    try:
        return str(json.loads(f'"{text}"', strict=False))
    except ValueError:
        return text


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
    most, spread = own(slowest), pstdev(work)
    made = {"step": rows[0]["step"], "repeat": rows[0]["repeat"], "ranks": len(rows)}
    made |= {"duration": fmean(row["duration"] for row in rows), "last": last["rank"]}
    made |= {"late": last["end"] - median(ends), "slowest": slowest["rank"], "own": most, "own_median": median(work)}
    made["z"] = (most - fmean(work)) / spread if spread else 0.0
    return made | {"marked": len(rows) > 1 and most > MARKED * median(work)}


def own(row: FigureRow) -> int:
    """Return the time of own work: busy time without exposed communication."""
    return int(row["busy"] - row["exposed"])


def total(rows: Iterable[FigureRow], key: str) -> int:
    return sum(row[key] for row in rows)
