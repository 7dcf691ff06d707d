"""``fastdispatch export``: a recording in the formats of other tools."""

from __future__ import annotations

import argparse
import gzip
from pathlib import Path
from typing import Literal

from fastdispatch import load
from fastdispatch._core import Error
from fastdispatch.cli.messages import message
from fastdispatch.cli.numbers import whole
from fastdispatch.cli.paths import Output, add_input, add_output
from fastdispatch.cli.step_options import add_steps, check_gpu
from fastdispatch.files.output import make_folder, write
from fastdispatch.read import tables


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "export",
        help="convert a recording to another format",
        description="Convert a recording to the format of another tool.",
    )
    formats = parser.add_subparsers(dest="format", metavar="FORMAT", required=True)
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
    add_flames(formats)
    add_sqlite(formats)
    add_timeline(formats, "perfetto", "native Perfetto timeline, for ui.perfetto.dev")
    chrome = add_timeline(formats, "chrome", "Chrome JSON timeline, for chrome://tracing, Perfetto and other viewers")
    chrome.add_argument(
        "--durations",
        choices=("jobs", "name", "args"),
        default="jobs",
        help="add durations to the names of jobs (default), to all names, or only to the arguments",
    )


def add_timeline(
    formats: argparse._SubParsersAction[argparse.ArgumentParser], name: str, what: str
) -> argparse.ArgumentParser:
    parser = formats.add_parser(
        name, help=what, description=f"Write a {what}. The recording needs a timeline: record with --timeline."
    )
    add_input(parser, "recording or run directory")
    add_output(parser, "output file; compressed if the name ends in .gz")
    parser.add_argument("--rank", type=whole, metavar="N", help="export only rank N")
    parser.set_defaults(function=export_timeline)
    return parser


def add_flames(formats: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    what = "folded stacks for flamegraph.pl, inferno, speedscope and other tools"
    folded = formats.add_parser("folded", help=what, description=f"Write {what}.")
    add_common(folded)
    folded.add_argument(
        "--weight",
        choices=("time", "calls", "gpu"),
        help="quantity that determines the width of calls (default: gpu if kernels were recorded, else time)",
    )
    folded.set_defaults(function=export_one)
    what = "a profile for pprof with calls, time, GPU time, and communicated and allocated bytes"
    pprof = formats.add_parser("pprof", help=what, description=f"Write {what}.")
    add_common(pprof)
    pprof.set_defaults(function=export_one)


def add_sqlite(formats: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    what = "all tables as an SQLite database"
    sqlite = formats.add_parser("sqlite", help=what, description=f"Write {what}.")
    add_input(sqlite)
    add_output(sqlite, "output file; an existing file is replaced")
    add_steps(sqlite)
    sqlite.set_defaults(function=export_sqlite)


def add_common(parser: argparse.ArgumentParser) -> None:
    add_input(parser)
    add_output(parser, "output file; compressed if the name ends in .gz")
    parser.add_argument("--rank", type=whole, metavar="N", help="export only rank N")
    add_steps(parser)


def export_one(arguments: argparse.Namespace) -> None:
    weight: Literal["time", "calls", "gpu"] | None = getattr(arguments, "weight", None)
    trace = load(arguments.path, steps=arguments.steps)
    if weight == "gpu":
        check_gpu(trace, arguments.path, "--weight")
    write_file(arguments.output, trace.export(arguments.format, rank=arguments.rank, weight=weight))


def export_sqlite(arguments: argparse.Namespace) -> None:
    large = tables.to_sqlite(load(arguments.path, timeline=True, steps=arguments.steps), arguments.output)
    if large:
        message(
            f"{arguments.output}: {large} numbers of more than 63 bits are stored as text: is the recording damaged?"
        )


def write_file(path: str, content: bytes) -> None:
    """Write a file atomically; compress it, reproducibly, if the name ends in .gz."""
    write(path, gzip.compress(content, compresslevel=6, mtime=0) if path.endswith(".gz") else content)


def export_timeline(arguments: argparse.Namespace) -> None:
    trace = load(arguments.path, timeline=True)
    content = trace.export(arguments.format, rank=arguments.rank, durations=getattr(arguments, "durations", "jobs"))
    write_file(arguments.output, content)


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
