"""``fastdispatch et convert``: execution traces in another format."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from fastdispatch._core import Error
from fastdispatch.cli.et.et_files import (
    DOT,
    ENDINGS,
    GRAPHS,
    PICTURES,
    add_edges,
    add_layout,
    each,
    list_traces,
    warnings,
    write_groups,
)
from fastdispatch.cli.export_command import write_file
from fastdispatch.cli.messages import message
from fastdispatch.cli.paths import Input, Output, add_output, check_output
from fastdispatch.files.output import new_folder
from fastdispatch.graphs.et_graphml import et_graphml
from fastdispatch.graphs.et_picture import et_picture
from fastdispatch.page.graphviz import drawn
from fastdispatch.read.execution_trace import et_convert, et_tables
from fastdispatch.text.formats import grouped

OUTPUTS = ENDINGS + GRAPHS + DOT + PICTURES


def add(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    convert = actions.add_parser(
        "convert",
        help="convert execution traces to another format",
        description="Convert execution traces of PyTorch (JSON) and Chakra (.et) to each other, a graph or an image.",
    )
    convert.add_argument(
        "paths", nargs="+", type=Input, metavar="ET", help="traces, one per rank, or folders of traces"
    )
    add_output(
        convert,
        "output file: Chakra (.et), PyTorch (.json), graph (.graphml, .dot) or image (.svg, .png, .pdf), "
        "compressed if the name ends in .gz; for several ranks a name with %%d for the rank, or a folder",
        Output,
    )
    add_layout(convert)
    add_edges(convert)
    convert.set_defaults(function=run)


def run(arguments: argparse.Namespace) -> None:
    files = list_traces(arguments.paths)
    outputs = name_outputs(arguments.output, files)
    with output_folder(outputs, arguments.output):
        rows = each(convert_one(arguments, files, outputs), len(files))
    if arguments.layout:
        write_groups(Path(outputs[0]).parent, rows)
    for (path, _), output, row in zip(files, outputs, rows, strict=True):
        for line in warnings(row):
            message(f"{path}: {line}")
        message(f"{output}: {grouped(row['nodes'])} nodes, {grouped(row['dependencies'])} dependencies")


def convert_one(
    arguments: argparse.Namespace, files: list[tuple[str, int]], outputs: list[str]
) -> Callable[[int], dict[str, Any]]:
    """The trace of a place among the files."""

    def convert(index: int) -> dict[str, Any]:
        path, rank = files[index]
        if outputs[index].endswith(GRAPHS + DOT + PICTURES):
            return draw(path, outputs[index], arguments.edges, rank)
        return et_convert(path, outputs[index], edges=arguments.edges, rank=rank)

    return convert


def draw(path: str, output: str, edges: int, rank: int) -> dict[str, Any]:
    """Write a trace as a graph, or draw it with Graphviz."""
    found = et_tables(path, edges=edges, rank=rank)
    tables = found.pop("tables")
    if output.endswith(GRAPHS):
        write_file(output, et_graphml(tables))
    else:
        picture = et_picture(tables)
        write_file(output, picture if output.endswith(DOT) else drawn(picture, output))
    return found


def name_outputs(output: str, files: list[tuple[str, int]]) -> list[str]:
    """Return an output per file; raise Error if one of them is an input."""
    made = _names(output, files)
    if len(set(made)) < len(made):
        raise Error(f"{output}: two traces of the same rank would be written to one file: give different names")
    for one in made:
        check_output(one, [path for path, _ in files])
    return made


def output_folder(outputs: list[str], output: str) -> AbstractContextManager[None]:
    """Make the output folder, if the output is one."""
    folder = Path(output)
    return new_folder(folder) if any(Path(one).parent == folder for one in outputs) else nullcontext()


def _names(output: str, files: list[tuple[str, int]]) -> list[str]:
    place = re.search(r"%0?\d*d", output)
    if place:
        return [output[: place.start()] + place[0] % rank + output[place.end() :] for _, rank in files]
    if output.endswith(OUTPUTS) and len(files) == 1:
        return [output]
    if output.endswith(OUTPUTS):
        raise Error(f"{output}: {len(files)} traces need separate files: write %d for the rank, or give a folder")
    if not output.endswith("/") and Path(output).suffix and not Path(output).is_dir():
        raise Error(f"{output}: write a name that ends in {', '.join(OUTPUTS)}, or a folder")
    return [str(Path(output) / f"trace.{rank}.et") for _, rank in files]
