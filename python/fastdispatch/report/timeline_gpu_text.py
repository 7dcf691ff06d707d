"""Tables of timeline statistics about GPUs: kinds of kernels, streams, launches."""

from collections.abc import Iterator, Sequence

from rich.table import Table
from rich.text import Text

from fastdispatch.report.slice_figures import FigureRow
from fastdispatch.report.terminal import section, share, table
from fastdispatch.report.timeline_figures import Stats
from fastdispatch.text.formats import grouped, seconds
from fastdispatch.text.kernel_names import short_kernel_names


def gpu_parts(made: Stats, top: int) -> Iterator[Text | Table]:
    """Yield the sections for which the trace has data, with at most ``top`` rows each."""
    if made.gpus:
        yield from section(title("GPU time by kind of kernel", made.gpus, top, "rank"), gpus(made.gpus[:top]))
    for kind in ("compute", "communication"):
        rows = [row for row in made.names if row["kind"] == kind]
        if rows:
            yield from section(title(f"Kernels: {kind}", rows, top, "with most time"), kernels(rows, top))
    if made.streams:
        busiest = sorted(made.streams, key=lambda row: -row["busy"])[:top]
        chosen = [row for row in made.streams if row in busiest]
        yield from section(title("Streams", made.streams, top, "busiest"), streams(chosen))
    if made.launches:
        yield from section(title("Launches", made.launches, top, "first"), launches(made.launches[:top]))


def title(text: str, rows: Sequence[FigureRow], top: int, what: str) -> str:
    return f"{text}: {top} of {grouped(len(rows))}, {what}" if len(rows) > top else text


def gpus(rows: Sequence[FigureRow]) -> Table:
    cells = []
    for row in rows:
        for kind in row["kinds"]:
            if kind["count"]:
                cells.append(
                    [
                        str(row["rank"]),
                        grouped(kind["count"]),
                        seconds(kind["total"]),
                        seconds(kind["time"]),
                        share(kind["time"], row["duration"]),
                        seconds(kind["alone"]),
                        kind["kind"],
                    ]
                )
        for overlap in row["overlaps"]:
            if overlap["time"]:
                time = overlap["time"]
                name = " + ".join(overlap["kinds"])
                cells.append([str(row["rank"]), "", "", seconds(time), share(time, row["duration"]), "", name])
        cells.append([str(row["rank"]), "", "", seconds(row["idle"]), share(row["idle"], row["duration"]), "", "idle"])
    return table(["rank", "count", "total", "time", "share", "alone", "kind"], cells, ["kind"])


def kernels(rows: Sequence[FigureRow], top: int) -> Table:
    whole = sum(row["total"] for row in rows)
    names = short_kernel_names(row["name"] for row in rows[:top])
    cells = [
        [
            share(row["total"], whole),
            seconds(row["total"]),
            grouped(row["count"]),
            seconds(row["mean"]),
            seconds(row["min"]),
            seconds(row["max"]),
            name,
        ]
        for row, name in zip(rows, names, strict=False)
    ]
    return table(["share", "total", "count", "mean", "min", "max", "name"], cells, ["name"])


def number(value: int | None) -> str:
    return "" if value is None else str(value)


def streams(rows: Sequence[FigureRow]) -> Table:
    columns = ["rank", "device", "stream", "count", "time", "busy", "idle", "host wait", "kernel wait", "other wait"]
    cells = [
        [
            str(row["rank"]),
            number(row["device"]),
            number(row["stream"]),
            grouped(row["count"]),
            seconds(row["duration"]),
            share(row["busy"], row["duration"]),
            seconds(row["idle"]),
            *(share(row[cause], row["idle"]) for cause in ("host_wait", "kernel_wait", "other_wait")),
        ]
        for row in rows
    ]
    return table(columns, cells)


def launches(rows: Sequence[FigureRow]) -> Table:
    columns = ["rank", "count", "delay p50", "p95", "max", "call p50", "p95", "max"]
    cells = [
        [
            str(row["rank"]),
            grouped(row["delay"]["count"]),
            *(seconds(row["delay"][key]) for key in ("p50", "p95", "max")),
            *(seconds(row["call"][key]) for key in ("p50", "p95", "max")),
        ]
        for row in rows
    ]
    return table(columns, cells)
