"""``fastdispatch export``: a recording in the formats of other tools."""

from __future__ import annotations

import argparse
import gzip
from pathlib import Path
from typing import NamedTuple

from fastdispatch import Trace, load
from fastdispatch._core import Error
from fastdispatch.cli.messages import message
from fastdispatch.cli.numbers import add_steps, check_gpu, whole
from fastdispatch.cli.option_tables import add_options
from fastdispatch.cli.paths import Output, add_input, add_output
from fastdispatch.files.output import make_folder, write
from fastdispatch.read import tables
from fastdispatch.read.trace import Steps


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "export",
        help="convert a recording to another format",
        description="Convert a recording to the format of another tool.",
    )
    formats = parser.add_subparsers(dest="format", metavar="FORMAT", required=True)
    add_callgraph(formats)
    contents = "; ".join(f"{name}: {each.contents}" for name, each in FORMATS.items())
    first, *others = FORMATS
    one = formats.add_parser(
        first,
        aliases=others,
        prog=f"fastdispatch export {'|'.join(FORMATS)}",
        help="one file",
        description=f"Write a file. {contents}.",
    )
    add_input(one)
    add_output(one, "output file; compressed if the name ends in .gz")
    one.add_argument("--rank", type=whole, metavar="N", help="export only rank N")
    add_steps(one, default=False)
    weight = "quantity that determines the width of folded calls (default: gpu if kernels were recorded, else time)"
    add_options(one, f"--weight {{time,calls,gpu}}  {weight}")
    one.set_defaults(function=export)


def add_callgraph(formats: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    callgraph = formats.add_parser(
        "callgraph",
        help="sorted lists of functions and calls, one file per rank",
        description="Write call_graph_<rank>.json, one per rank: two sorted lists, functions and 'caller->callee'.",
    )
    add_input(callgraph)
    add_output(callgraph, "output folder, or FILE.json for one rank", Output, "PATH")
    callgraph.add_argument("--ops", action="store_true", help="include operators")
    callgraph.add_argument("--rank", type=whole, metavar="N", help="export only rank N")
    callgraph.set_defaults(function=export_callgraph)


class Format(NamedTuple):
    """A format of one file: its contents, its options, and whether it is a timeline."""

    contents: str
    options: tuple[str, ...]
    timeline: bool = False


FORMATS = {
    "folded": Format("stacks for flamegraph.pl, inferno, speedscope and other tools", ("rank", "steps", "weight")),
    "pprof": Format("a profile with calls, time, GPU time, and communicated and allocated bytes", ("rank", "steps")),
    "sqlite": Format("all tables as an SQLite database, which replaces an existing file", ("steps",)),
    "perfetto": Format("a native timeline for ui.perfetto.dev, of a recording with --timeline", ("rank",), True),
    "chrome": Format("a JSON timeline for chrome://tracing, Perfetto and other viewers", ("rank",), True),
}


def export(arguments: argparse.Namespace) -> None:
    name = arguments.format
    _, options, timeline = FORMATS[name]
    for option, default in (("rank", None), ("steps", False), ("weight", None)):
        if getattr(arguments, option) != default and option not in options:
            raise Error(f"--{option} has no effect on the format {name}")
    steps: Steps = None if timeline else "settled" if arguments.steps is False else arguments.steps
    trace = load(arguments.path, timeline=timeline or name == "sqlite", steps=steps)
    if name == "sqlite":
        to_sqlite(trace, arguments.output)
        return
    if arguments.weight == "gpu":
        check_gpu(trace, arguments.path, "--weight")
    write_file(arguments.output, trace.export(name, rank=arguments.rank, weight=arguments.weight))


def to_sqlite(trace: Trace, output: str) -> None:
    large = tables.to_sqlite(trace, output)
    if large:
        message(f"{output}: {large} numbers of more than 63 bits are stored as text: is the recording damaged?")


def write_file(path: str, content: bytes) -> None:
    """Write a file atomically; compress it, reproducibly, if the name ends in .gz."""
    write(path, gzip.compress(content, compresslevel=6, mtime=0) if path.endswith(".gz") else content)


def export_callgraph(arguments: argparse.Namespace) -> None:
    trace = load(arguments.path)
    ranks = [rank["rank"] for rank in trace.ranks] if arguments.rank is None else [arguments.rank]
    texts = {rank: trace.export("callgraph", rank=rank, ops="all" if arguments.ops else "none") for rank in ranks}
    output = Path(arguments.output)
    if output.suffix != ".json" or output.is_dir():
        make_folder(output)
        for rank, text in texts.items():
            write(output / f"call_graph_{rank}.json", text)
    elif len(ranks) == 1:
        write(output, texts[ranks[0]])
    else:
        raise Error(
            f"{output}: one file cannot hold {len(ranks)} ranks: give a folder to -o, or select one with --rank"
        )
