"""``fastdispatch et convert``: execution traces in another form."""

from __future__ import annotations

import argparse
import re
import tempfile
from pathlib import Path
from typing import Any, Literal

from fastdispatch import Error
from fastdispatch._core import et_convert
from fastdispatch.cli.et_files import ENDINGS, GRAPHS, PICTURES, add_edges, each, list_traces, tell, warnings
from fastdispatch.cli.output import make_folder, write
from fastdispatch.summary import grouped
from fastdispatch.views.svg import layout

OUTPUTS = ENDINGS + GRAPHS + PICTURES


def add(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    convert = actions.add_parser(
        "convert",
        help="execution traces in another form",
        description="PyTorch's execution traces and Chakra's .et, each to the other, to a timeline, graph or picture.",
    )
    convert.add_argument("paths", nargs="+", metavar="ET", help="traces, one a rank, or folders of them")
    convert.add_argument(
        "-o",
        dest="output",
        required=True,
        metavar="FILE",
        help="Chakra when it ends in .et, PyTorch's form in .json, a graph in .graphml, a picture in .svg, .pdf or "
        ".dot; gzip with .gz; of several ranks %%d stands for the rank, or a folder",
    )
    convert.add_argument(
        "--timeline", action="store_true", help="write a Chrome trace (.json): a row a thread and stream"
    )
    add_edges(convert)
    convert.set_defaults(function=run)


def run(arguments: argparse.Namespace) -> None:
    files = list_traces(arguments.paths)
    outputs = name_outputs(arguments.output, files, arguments.timeline)

    def convert(place: int) -> dict[str, Any]:
        path, rank = files[place]
        if outputs[place].endswith(PICTURES) and not arguments.timeline:
            return draw(path, outputs[place], arguments.edges, rank)
        return et_convert(path, outputs[place], edges=arguments.edges, rank=rank, timeline=arguments.timeline)

    for (path, _), output, row in zip(files, outputs, each(convert, len(files)), strict=True):
        for line in warnings(row):
            tell(f"{path}: {line}")
        tell(f"{output}: {grouped(row['nodes'])} nodes, {grouped(row['dependencies'])} dependencies")


def draw(path: str, output: str, edges: int, rank: int) -> dict[str, Any]:
    """By Graphviz, which says so where it is not there."""
    form: Literal["svg", "pdf"] = "svg" if output.endswith(".svg") else "pdf"
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder) / "trace.dot"
        row = et_convert(path, str(text), edges=edges, rank=rank)
        write(output, layout(text.read_bytes(), form))
    return row


def name_outputs(output: str, files: list[tuple[str, int]], timeline: bool) -> list[str]:
    """One for each file."""
    place = re.search(r"%0?\d*d", output)
    if place:
        made = [output[: place.start()] + place[0] % rank + output[place.end() :] for _, rank in files]
    elif output.endswith(OUTPUTS) and len(files) == 1:
        return [output]
    elif output.endswith(OUTPUTS):
        raise Error(f"{output}: {len(files)} traces need as many files: write %d where the rank goes, or a folder")
    elif not output.endswith("/") and Path(output).suffix and not Path(output).is_dir():
        raise Error(f"{output}: write a name that ends in {', '.join(OUTPUTS)}, or a folder")
    else:
        make_folder(Path(output))
        end = "json" if timeline else "et"
        made = [str(Path(output) / f"trace.{rank}.{end}") for _, rank in files]
    if len(set(made)) < len(made):
        raise Error(f"{output}: ranks of the same number would be written to the same file: name them apart")
    return made
