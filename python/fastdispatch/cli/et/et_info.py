"""``fastdispatch et info``: contents of execution traces."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from fastdispatch.cli.et.et_files import each, list_traces, warnings
from fastdispatch.cli.messages import message
from fastdispatch.cli.paths import Input
from fastdispatch.read.execution_trace import et_info
from fastdispatch.text.formats import printable

SCHEMA = "fastdispatch-et-info/1"


def add(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    info = actions.add_parser(
        "info", help="summarize execution traces", description="Print counts, versions and communication by rank."
    )
    info.add_argument("paths", nargs="+", type=Input, metavar="ET", help="traces, one per rank, or folders of traces")
    info.add_argument("--json", action="store_true", help="print everything as JSON")
    info.set_defaults(function=run)


def run(arguments: argparse.Namespace) -> None:
    files = list_traces(arguments.paths)

    def info(index: int) -> dict[str, Any]:
        path, rank = files[index]
        return {"file": path, **et_info(path, rank=rank)}

    rows = each(info, len(files))
    if arguments.json:
        print(json.dumps({"schema": SCHEMA, "files": rows}))
        return
    for row in rows:
        for line in warnings(row):
            message(f"{row['file']}: {line}")
    show(rows)


def show(rows: list[dict[str, Any]]) -> None:
    from rich.text import Text

    from fastdispatch.report.terminal import print_parts, section, table, width_of
    from fastdispatch.text.formats import grouped

    names = ["-" if row["rank"] is None else str(row["rank"]) for row in rows]
    figures = [
        [
            name,
            *map(grouped, (row["nodes"], row["operators"], row["gpu"], row["threads"], row["streams"])),
            f"{(row['end_ns'] - row['begin_ns']) / 1e6:.3f} ms" if row["timed"] else "-",
            grouped(row["dependencies"]),
        ]
        for name, row in zip(names, rows, strict=True)
    ]
    columns = ("rank", "nodes", "operators", "GPU", "threads", "streams", "time", "dependencies")
    parts: list[Any] = [table(columns, figures, gap=2), Text("")]
    for name, row in zip(names, rows, strict=True):
        schema = f", {row['schema']}" if row["schema"] else ""
        parts.append(Text(printable(f"rank {name}: {row['file']} ({row['format']}{schema})")))
    for title, key, empty in (("dependencies", "edges", 0), ("communication", "communication", {})):
        found = list(dict.fromkeys(name for row in rows for name, value in row[key].items() if value))
        if found:
            cells = [
                [name, *(cell(row[key].get(each, empty)) for each in found)]
                for name, row in zip(names, rows, strict=True)
            ]
            parts += section(title, table(["rank", *found], cells, gap=2))
    print_parts(parts, sys.stdout, width_of(sys.stdout))


def cell(value: int | dict[str, int]) -> str:
    from fastdispatch.text.formats import grouped

    if isinstance(value, int):
        return grouped(value)
    return f"{grouped(value['count'])} x, {grouped(value['bytes'])} B" if value else "0"
