"""Timeline statistics as text."""

import re
from collections.abc import Iterator, Sequence

from rich.table import Table
from rich.text import Text

from fastdispatch.report.slice_figures import FigureRow
from fastdispatch.report.terminal import section, share, table
from fastdispatch.report.timeline_figures import Stats, total
from fastdispatch.text.formats import counted, grouped, printable, seconds, spans
from fastdispatch.text.kernel_names import short_kernel_name, short_kernel_names

_BASIS = {"gpu": "kernels on the GPU", "operators": "operators on the CPU", "jobs": "jobs", "calls": "all calls"}

#: Categories of work on devices, without calls on the host.
_DEVICES = re.compile(r"(xpu|mtia|hpu|npu|tpu|glow|privateuse1)_(?!.*(runtime|driver|annotation))")


def parts(made: Stats, top: int) -> Iterator[Text | Table]:
    """Yield tables of at most ``top`` rows each."""
    yield Text(head(made), style="dim")
    yield ranks(made)
    if len(made.stages) > 1:
        yield from section("Stages", stages(made))
    if made.stragglers:
        yield from section(f"Steps{left_out(made.stragglers, top, 'the {} longest of {}')}", steps(made, top))
    if made.jobs:
        yield from section("Jobs", jobs([row for row in made.jobs if row["step"] is None][: 4 * top]))
    if made.collectives and len(made.ranks) > 1:
        yield from section("Collectives: how far apart the ranks begin and end", collectives(made.collectives))
    yield from gpu_parts(made, top)
    if made.names:
        yield from section(f"Slices{left_out(made.names, top, 'the {} of {} with most time')}", names(made.names[:top]))
    yield Text("")
    for line in foot(made):
        yield Text(printable(line), style="dim")


def gpu_parts(made: Stats, top: int) -> Iterator[Text | Table]:
    """Yield the sections about GPUs for which the trace has data."""
    if made.gpus:
        yield from section(
            f"GPU time by kind of kernel{left_out(made.gpus, top, '{} of {}, rank')}", gpus(made.gpus[:top])
        )
    for kind in ("compute", "communication"):
        rows = [row for row in made.names if row["kind"] == kind]
        if rows:
            title = f"Kernels: {kind}{left_out(rows, top, '{} of {}, with most time')}"
            yield from section(title, kernels(rows, top))
    if made.streams:
        busiest = sorted(made.streams, key=lambda row: -row["busy"])[:top]
        chosen = [row for row in made.streams if row in busiest]
        yield from section(f"Streams{left_out(made.streams, top, '{} of {}, busiest')}", streams(chosen))
    if made.launches:
        title = f"Launches{left_out(made.launches, top, '{} of {}, first')}"
        yield from section(title, launches(made.launches[:top]))


def left_out(rows: Sequence[FigureRow], top: int, words: str) -> str:
    """Return which rows a table has if they are not all."""
    return f": {words.format(top, grouped(len(rows)))}" if len(rows) > top else ""


def head(made: Stats) -> str:
    first, last = min(row["start"] for row in made.ranks), max(row["end"] for row in made.ranks)
    return (
        f"{counted(len(made.ranks), 'rank')}, {counted(len(made.stragglers), 'step')}, "
        f"{counted(total(made.ranks, 'events'), 'event')}, {seconds(last - first)}"
    )


def ranks(made: Stats) -> Table:
    shown = shares(made)
    columns = ["rank", "steps", "time", *shown, *(["straggler", "last to begin"] if len(made.ranks) > 1 else [])]
    rows = []
    for row in made.ranks:
        figures = [share(row[key], row["duration"]) for key in shown]
        cells = [number(row["rank"]), grouped(row["steps"]), seconds(row["duration"]), *figures]
        rows.append([*cells, number(row["straggler"]), number(row["began_last"])][: len(columns)])
    return table(columns, rows)


def number(value: int | None) -> str:
    return "" if value is None else str(value)


def shares(made: Stats) -> list[str]:
    copies = ["copies"] if any(row["copies"] for row in made.ranks) else []
    return ["busy", "compute", "communication", "exposed", "idle", *copies]


def stages(made: Stats) -> Table:
    shown, rows = shares(made), []
    for row in made.stages:
        figures = [share(row[key], row["duration"]) for key in shown]
        mean = seconds(row["duration"] / len(row["ranks"]))
        rows.append([", ".join(map(str, row["stages"])), spans(row["ranks"]), mean, *figures])
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
    cells = [[number(row["rank"]), number(row["stage"]), *figures(row), row["type"]] for row in rows]
    return table(["rank", "stage", *FIGURES, "job"], cells, ["job"])


def names(rows: Sequence[FigureRow]) -> Table:
    kernels = [row for row in rows if row["kind"] in ("compute", "communication") or row["name"].startswith("nccl")]
    short = dict(zip(map(id, kernels), short_kernel_names(row["name"] for row in kernels), strict=True))
    cells = [[*figures(row), row["category"], short.get(id(row), row["name"])] for row in rows]
    return table([*FIGURES, "category", "name"], cells, ["category", "name"])


def collectives(rows: Sequence[FigureRow]) -> Table:
    spreads = [("begin", "p50"), ("begin", "max"), ("end", "p50"), ("end", "max")]
    columns = ["matched", "ranks", *map(" ".join, spreads), "worst", "unmatched", "name", "group"]
    cells = []
    for row in rows:
        found = [*(seconds(row[end][key]) for end, key in spreads), f"rank {row['worst_rank']}"]
        found = found if row["matched"] else [""] * len(found)
        unmatched = grouped(row["unmatched"]) if row["unmatched"] else ""
        name = short_kernel_name(row["name"])
        cells.append([grouped(row["matched"]), number(row["ranks"]), *found, unmatched, name, row["group"]])
    return table(columns, cells, ["name", "group"])


def gpus(rows: Sequence[FigureRow]) -> Table:
    cells = []
    for row in rows:
        rank, whole = number(row["rank"]), row["duration"]
        for kind in row["kinds"]:
            if kind["count"]:
                figures = grouped(kind["count"]), seconds(kind["total"]), seconds(kind["time"])
                cells.append([rank, *figures, share(kind["time"], whole), seconds(kind["alone"]), kind["kind"]])
        others = [(each["time"], " + ".join(each["kinds"])) for each in row["overlaps"] if each["time"]]
        for time, name in [*others, (row["idle"], "idle")]:
            cells.append([rank, "", "", seconds(time), share(time, whole), "", name])
    return table(["rank", "count", "total", "time", "share", "alone", "kind"], cells, ["kind"])


def kernels(rows: Sequence[FigureRow], top: int) -> Table:
    whole, cells = total(rows, "total"), []
    for row, name in zip(rows, short_kernel_names(row["name"] for row in rows[:top]), strict=False):
        times = [seconds(row[key]) for key in ("total", "mean", "min", "max")]
        cells.append([share(row["total"], whole), times[0], grouped(row["count"]), *times[1:], name])
    return table(["share", "total", "count", "mean", "min", "max", "name"], cells, ["name"])


def streams(rows: Sequence[FigureRow]) -> Table:
    cells = []
    for row in rows:
        waits = [share(row[cause], row["idle"]) for cause in ("host_wait", "kernel_wait", "other_wait")]
        figures = [seconds(row["duration"]), share(row["busy"], row["duration"]), seconds(row["idle"])]
        place = [number(row[key]) for key in ("rank", "device", "stream")]
        cells.append([*place, grouped(row["count"]), *figures, *waits])
    columns = ["rank", "device", "stream", "count", "time", "busy", "idle", "host wait", "kernel wait", "other wait"]
    return table(columns, cells)


def launches(rows: Sequence[FigureRow]) -> Table:
    cells = []
    for row in rows:
        times = [seconds(row[of][key]) for of in ("delay", "call") for key in ("p50", "p95", "max")]
        cells.append([number(row["rank"]), grouped(row["delay"]["count"]), *times])
    return table(["rank", "count", "delay p50", "p95", "max", "call p50", "p95", "max"], cells)


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
