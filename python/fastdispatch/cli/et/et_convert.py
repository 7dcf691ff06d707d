"""``fastdispatch et convert``: execution traces in another form."""

from __future__ import annotations

import argparse
import re
import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from fastdispatch import Error
from fastdispatch._core import et_convert
from fastdispatch.cli.et.et_files import ENDINGS, GRAPHS, PICTURES, add_edges, each, list_traces, tell, warnings
from fastdispatch.cli.output import new_folder, write
from fastdispatch.cli.paths import Input, Output, check_output
from fastdispatch.page.graphviz import drawn
from fastdispatch.read.summary import grouped

OUTPUTS = ENDINGS + GRAPHS + PICTURES


def add(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    convert = actions.add_parser(
        "convert",
        help="execution traces in another form",
        description="PyTorch's execution traces and Chakra's .et, each to the other, to a timeline, graph or picture.",
    )
    convert.add_argument("paths", nargs="+", type=Input, metavar="ET", help="traces, one a rank, or folders of them")
    convert.add_argument(
        "-o",
        dest="output",
        required=True,
        type=Output,
        metavar="FILE",
        help="Chakra when it ends in .et, PyTorch's form in .json, a graph in .graphml, a picture in .svg, .png, .pdf "
        "or .dot; gzip with .gz; of several ranks %%d stands for the rank, or a folder",
    )
    convert.add_argument(
        "--timeline", action="store_true", help="write a Chrome trace (.json): a row a thread and stream"
    )
    add_edges(convert)
    convert.set_defaults(function=run)


def run(arguments: argparse.Namespace) -> None:
    files = list_traces(arguments.paths)
    outputs = name_outputs(arguments.output, files, arguments.timeline)
    with place_of(outputs, arguments.output):
        rows = each(convert_one(arguments, files, outputs), len(files))
    for (path, _), output, row in zip(files, outputs, rows, strict=True):
        for line in warnings(row):
            tell(f"{path}: {line}")
        tell(f"{output}: {grouped(row['nodes'])} nodes, {grouped(row['dependencies'])} dependencies")


def convert_one(
    arguments: argparse.Namespace, files: list[tuple[str, int]], outputs: list[str]
) -> Callable[[int], dict[str, Any]]:
    """The trace of a place among the files."""

    def convert(place: int) -> dict[str, Any]:
        path, rank = files[place]
        if outputs[place].endswith(PICTURES) and not arguments.timeline:
            return draw(path, outputs[place], arguments.edges, rank)
        return et_convert(path, outputs[place], edges=arguments.edges, rank=rank, timeline=arguments.timeline)

    return convert


def draw(path: str, output: str, edges: int, rank: int) -> dict[str, Any]:
    """By Graphviz, which says so where it is not there."""
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder) / "trace.dot"
        row = et_convert(path, str(text), edges=edges, rank=rank)
        write(output, drawn(text.read_bytes(), output))
    return row


def name_outputs(output: str, files: list[tuple[str, int]], timeline: bool) -> list[str]:
    """One for each file, none of them an input."""
    made = _names(output, files, timeline)
    if len(set(made)) < len(made):
        raise Error(f"{output}: ranks of the same number would be written to the same file: name them apart")
    for one in made:
        check_output(one, [path for path, _ in files])
    return made


def place_of(outputs: list[str], output: str) -> AbstractContextManager[None]:
    """The folder that they are written to is made, where it was asked for as one."""
    folder = Path(output)
    return new_folder(folder) if any(Path(one).parent == folder for one in outputs) else nullcontext()


def _names(output: str, files: list[tuple[str, int]], timeline: bool) -> list[str]:
    place = re.search(r"%0?\d*d", output)
    if place:
        return [output[: place.start()] + place[0] % rank + output[place.end() :] for _, rank in files]
    if output.endswith(OUTPUTS) and len(files) == 1:
        return [output]
    if output.endswith(OUTPUTS):
        raise Error(f"{output}: {len(files)} traces need as many files: write %d where the rank goes, or a folder")
    if not output.endswith("/") and Path(output).suffix and not Path(output).is_dir():
        raise Error(f"{output}: write a name that ends in {', '.join(OUTPUTS)}, or a folder")
    end = "json" if timeline else "et"
    return [str(Path(output) / f"trace.{rank}.{end}") for _, rank in files]
