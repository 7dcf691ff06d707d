"""Timeline statistics as text."""

import re
from collections.abc import Iterator, Sequence
from typing import IO

from rich.table import Table
from rich.text import Text

from fastdispatch.report.slice_figures import FigureRow
from fastdispatch.report.terminal import print_parts, section, share, table, width_of
from fastdispatch.report.timeline_figures import Stats, total
from fastdispatch.report.timeline_gpu_text import gpu_parts
from fastdispatch.text.formats import counted, grouped, printable, seconds, spans
from fastdispatch.text.kernel_names import short_kernel_name, short_kernel_names

_BASIS = {
    "gpu": "kernels on the GPU",
    "operators": "operators on the CPU",
    "jobs": "jobs",
    "calls": "all calls",
}

#: Categories of work on devices, without calls on the host.
_DEVICES = re.compile(r"(xpu|mtia|hpu|npu|tpu|glow|privateuse1)_(?!.*(runtime|driver|annotation))")

#: Nouns for values without room.


def print_stats(made: Stats, file: IO[str], top: int) -> None:
    """Print tables of at most ``top`` rows each."""
    print_parts(parts(made, top), file, width_of(file))


def parts(made: Stats, top: int) -> Iterator[Text | Table]:
    yield Text(head(made), style="dim")
    yield ranks(made)
    if len(made.stages) > 1:
        yield from section("Stages", stages(made))
    if made.stragglers:
        yield from section(f"Steps{longest(len(made.stragglers), top)}", steps(made, top))
    if made.jobs:
        yield from section("Jobs", jobs([row for row in made.jobs if row["step"] is None][: 4 * top]))
    if made.collectives and len(made.ranks) > 1:
        yield from section("Collectives: how far apart the ranks begin and end", collectives(made.collectives))
    yield from gpu_parts(made, top)
    if made.names:
        yield from section(f"Slices{largest(len(made.names), top)}", names(made.names[:top]))
    yield Text("")
    for line in foot(made):
        yield Text(printable(line), style="dim")


def longest(count: int, top: int) -> str:
    return f": the {top} longest of {grouped(count)}" if count > top else ""


def largest(count: int, top: int) -> str:
    return f": the {top} of {grouped(count)} with most time" if count > top else ""


def head(made: Stats) -> str:
    first, last = min(row["start"] for row in made.ranks), max(row["end"] for row in made.ranks)
    count = len(made.ranks)
    return (
        f"{counted(count, 'rank')}, {counted(len(made.stragglers), 'step')}, "
        f"{counted(total(made.ranks, 'events'), 'event')}, {seconds(last - first)}"
    )


def ranks(made: Stats) -> Table:
    shown = shares(made)
    columns = ["rank", "steps", "time", *shown]
    columns += ["straggler", "last to begin"] if len(made.ranks) > 1 else []
    rows = []
    for row in made.ranks:
        cells = [str(row["rank"]), grouped(row["steps"]), seconds(row["duration"])]
        cells += [share(row[key], row["duration"]) for key in shown]
        cells += [str(row["straggler"]), str(row["began_last"])]
        rows.append(cells[: len(columns)])
    return table(columns, rows)


def shares(made: Stats) -> list[str]:
    copies = ["copies"] if any(row["copies"] for row in made.ranks) else []
    return ["busy", "compute", "communication", "exposed", "idle", *copies]


def stages(made: Stats) -> Table:
    shown = shares(made)
    rows = [
        [
            ", ".join(map(str, row["stages"])),
            spans(row["ranks"]),
            seconds(row["duration"] / len(row["ranks"])),
            *(share(row[key], row["duration"]) for key in shown),
        ]
        for row in made.stages
    ]
    return table(["stage", "ranks", "mean time", *shown], rows)


def steps(made: Stats, top: int) -> Table:
    """Return the table of the longest steps, in order."""
    longest = sorted(made.stragglers, key=lambda row: -row["duration"])[:top]
    chosen = [row for row in made.stragglers if any(row is each for each in longest)]
    by_step: dict[tuple[int, int], list[FigureRow]] = {}
    for row in made.steps:
        by_step.setdefault((row["repeat"], row["step"]), []).append(row)
    several = any(row["ranks"] > 1 for row in chosen)
    columns = ["step", "mean time", "compute", "communication", "exposed", "idle"]
    columns += ["slowest", "own work", "median", "z", "last", "late by"] if several else []
    rows = []
    for each in chosen:
        of = by_step[each["repeat"], each["step"]]
        whole = total(of, "duration")
        repeat = f" #{each['repeat'] + 1}" if each["repeat"] else ""
        cells = [f"{each['step']}{repeat}", seconds(each["duration"])]
        cells += [share(total(of, key), whole) for key in ("compute", "communication", "exposed", "idle")]
        cells += [f"{'▲ ' if each['marked'] else ''}rank {each['slowest']}", seconds(each["own"])]
        cells += [seconds(each["own_median"]), f"{each['z']:.1f}", f"rank {each['last']}", seconds(each["late"])]
        rows.append(cells[: len(columns)])
    return table(columns, rows)


FIGURES = ("count", "total", "mean", "p50", "p95", "p99", "max")


def figures(row: FigureRow) -> list[str]:
    return [grouped(row["count"]), *(seconds(row[key]) for key in FIGURES[1:])]


def jobs(rows: Sequence[FigureRow]) -> Table:
    cells = [
        [str(row["rank"]), "" if row["stage"] is None else str(row["stage"]), *figures(row), row["type"]]
        for row in rows
    ]
    return table(["rank", "stage", *FIGURES, "job"], cells, ["job"])


def names(rows: Sequence[FigureRow]) -> Table:
    kernels = [row for row in rows if row["kind"] in ("compute", "communication") or row["name"].startswith("nccl")]
    short = dict(zip(map(id, kernels), short_kernel_names(row["name"] for row in kernels), strict=True))
    cells = [[*figures(row), row["category"], short.get(id(row), row["name"])] for row in rows]
    return table([*FIGURES, "category", "name"], cells, ["category", "name"])


def collectives(rows: Sequence[FigureRow]) -> Table:
    columns = [
        "matched",
        "ranks",
        "begin p50",
        "begin max",
        "end p50",
        "end max",
        "worst",
        "unmatched",
        "name",
        "group",
    ]
    cells = []
    for row in rows:
        begin, end = row["begin"], row["end"]
        spreads = [seconds(begin["p50"]), seconds(begin["max"]), seconds(end["p50"]), seconds(end["max"])]
        spreads = [*spreads, f"rank {row['worst_rank']}"] if row["matched"] else [""] * 5
        name = short_kernel_name(row["name"])
        unmatched = grouped(row["unmatched"]) if row["unmatched"] else ""
        cells.append([grouped(row["matched"]), str(row["ranks"]), *spreads, unmatched, name, row["group"]])
    return table(columns, cells, ["name", "group"])


def foot(made: Stats) -> Iterator[str]:
    """Yield the meaning of figures, and missing data."""
    bases = sorted({row["basis"] for row in made.ranks}, key=list(_BASIS).index)
    compute = " or ".join(_BASIS[basis] for basis in bases)
    yield f"Compute is {compute}; percentiles within {share(made.relative_error, 1)}"
    if any(row["marked"] for row in made.stragglers):
        yield "▲ own work (busy without exposed communication) more than 10 % above the median of the ranks"
    for row in made.ranks:
        yield from steps_of(row)
    for row in made.launches:
        yield from doubts(row)
    for category in sorted({row["category"] for row in made.names if _DEVICES.match(row["category"])}):
        yield f"work of the category {category} is not read: compute and communication are those of the rest"
    for row in made.ranks:
        if row["calls_lost"]:
            yield f"rank {row['rank']}: {counted(row['calls_lost'], 'event')} found no room in its timeline"
        if row["places_lost"]:
            yield f"rank {row['rank']}: {counted(row['places_lost'], 'damaged place')} in its trace"
    if made.steps_left_out:
        yield f"{counted(made.steps_left_out, 'step')} found no room in these tables"


def steps_of(row: FigureRow) -> Iterator[str]:
    """Yield what the steps of a rank are if they are not ``ProfilerStep#N``, which have no end, and other doubts."""
    for doubt in row["doubts"]:
        yield f"rank {row['rank']}: {doubt}"
    if row["steps_of"]:
        what = "a step ends with each" if row["steps_end_there"] else "steps are the ranges"
        yield f"rank {row['rank']}: the trace has no ProfilerStep; {what} `{row['steps_of']}`"
    if row["open_steps"]:
        yield (
            f"rank {row['rank']}: {counted(row['open_steps'], 'step')} without an end: shown until the next one or the "
            "end of the trace"
        )


def doubts(row: FigureRow) -> Iterator[str]:
    """Yield why delays of launches are not exact."""
    rank = f"rank {row['rank']}"
    if row["early"]:
        count = counted(row["delay"]["count"], "launch", "launches")
        yield (
            f"{rank}: {grouped(row['early'])} of {count} began after their work: the clock of the GPU is at least "
            f"{seconds(row['skew'])} behind, and delays are too short"
        )
    if row["repeated"]:
        yield (
            f"{rank}: correlation numbers are not unique ({grouped(row['repeated'])} repeated): launches and their "
            "work are matched by process and time"
        )
