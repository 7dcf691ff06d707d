"""``fastdispatch et export``: execution traces from recordings."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from fastdispatch.cli.et.et_files import add_edges, add_layout, each, rank_of, warnings, write_groups
from fastdispatch.cli.messages import message
from fastdispatch.cli.paths import Input, OutputFolder, add_output
from fastdispatch.files.output import new_folder
from fastdispatch.read import live
from fastdispatch.read.execution_trace import et_export
from fastdispatch.text.formats import grouped


def add(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    export = actions.add_parser(
        "export",
        help="write execution traces from recordings",
        description="Write the operators that CallGraph(et=True) recorded: for each rank an execution trace in the "
        "formats of PyTorch and Chakra.",
    )
    export.add_argument("paths", nargs="+", type=Input, metavar="RUN", help="recordings, or run directories")
    add_output(export, "output folder, for et_RANK.json and trace.RANK.et", OutputFolder, "DIR")
    add_layout(export)
    add_edges(export)
    export.set_defaults(function=run)


def run(arguments: argparse.Namespace) -> None:
    files = recordings(arguments.paths)
    folder = Path(arguments.output)

    def export(index: int) -> dict[str, Any]:
        path, rank = files[index]
        return et_export(path, folder / f"et_{rank}.json", folder / f"trace.{rank}.et", edges=arguments.edges)

    with new_folder(folder):
        rows = each(export, len(files))
    if arguments.layout:
        write_groups(folder, rows)
    for (path, rank), row in zip(files, rows, strict=True):
        for line in warnings(row):
            message(f"{path}: {line}")
        message(
            f"{folder / f'trace.{rank}.et'}: {grouped(row['nodes'])} nodes, {grouped(row['dependencies'])} dependencies"
        )


def recordings(paths: list[str]) -> list[tuple[Path, int]]:
    """Each recording with the rank in its name, else its place."""
    found = [each for path in paths for each in live.recordings(path)]
    ranks = [rank_of(path.name) for path in found]
    whole = min(ranks) >= 0 and len(set(ranks)) == len(ranks)
    return [(path, ranks[index] if whole else index) for index, path in enumerate(found)]
