"""``fastdispatch et info``: contents of execution traces."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from fastdispatch._core import et_info
from fastdispatch.cli.et.et_files import add_edges, each, list_traces, warnings
from fastdispatch.cli.messages import message
from fastdispatch.cli.paths import Input

SCHEMA = "fastdispatch-et-info/1"


def add(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    info = actions.add_parser(
        "info", help="summarize execution traces", description="Print counts, versions and communication by rank."
    )
    info.add_argument("paths", nargs="+", type=Input, metavar="ET", help="traces, one per rank, or folders of traces")
    info.add_argument("--json", action="store_true", help="print everything as JSON")
    add_edges(info)
    info.set_defaults(function=run)


def run(arguments: argparse.Namespace) -> None:
    files = list_traces(arguments.paths)

    def info(index: int) -> dict[str, Any]:
        path, rank = files[index]
        return {"file": path, **et_info(path, edges=arguments.edges, rank=rank)}

    rows = each(info, len(files))
    if arguments.json:
        print(json.dumps({"schema": SCHEMA, "files": rows}))
        return
    for row in rows:
        for line in warnings(row):
            message(f"{row['file']}: {line}")
    show(rows)


def show(rows: list[dict[str, Any]]) -> None:
    from rich.console import Console
    from rich.table import Table

    from fastdispatch.text.formats import grouped

    console = Console(file=sys.stdout, highlight=False)
    table = Table(box=None, pad_edge=False)
    for name in ("rank", "nodes", "operators", "GPU", "threads", "streams", "time", "dependencies", "file"):
        table.add_column(name, justify="left" if name == "file" else "right", overflow="fold")
    for row in rows:
        time = f"{(row['end_ns'] - row['begin_ns']) / 1e6:.3f} ms" if row["timed"] else "-"
        figures = (row["nodes"], row["operators"], row["gpu"], row["threads"], row["streams"])
        table.add_row(
            "-" if row["rank"] is None else str(row["rank"]),
            *map(grouped, figures),
            time,
            grouped(row["dependencies"]),
            f"{row['file']} ({row['format']}{', ' + row['schema'] if row['schema'] else ''})",
        )
    console.print(table)
    for title, key, figure in (("dependencies", "edges", int), ("communication", "communication", dict)):
        names = list(dict.fromkeys(name for row in rows for name, value in row[key].items() if value))
        if names:
            console.print()
            part = Table(box=None, pad_edge=False)
            part.add_column("rank", justify="right")
            for name in names:
                part.add_column(name, justify="right")
            for row in rows:
                cells = (row[key].get(name, figure()) for name in names)
                part.add_row("-" if row["rank"] is None else str(row["rank"]), *map(cell, cells))
            console.print(title)
            console.print(part)


def cell(value: int | dict[str, int]) -> str:
    from fastdispatch.text.formats import grouped

    if isinstance(value, int):
        return grouped(value)
    return f"{grouped(value['count'])} x, {grouped(value['bytes'])} B" if value else "0"
