"""``fastdispatch export``: a recording in the formats of other programs."""

from __future__ import annotations

import argparse
import gzip
from pathlib import Path

from fastdispatch import Error, Trace, load
from fastdispatch.cli.output import make_folder, write
from fastdispatch.cli.timeline_merge import ALIGNMENTS


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("export", help="a recording in another format", description=__doc__)
    formats = parser.add_subparsers(dest="format", metavar="FORMAT", required=True)
    callgraph = formats.add_parser(
        "callgraph",
        help="call_graph_<rank>.json: two sorted lists, functions and 'caller->callee'",
        description="call_graph_<rank>.json, one a rank: two sorted lists of strings, functions and 'caller->callee'.",
    )
    callgraph.add_argument("path", metavar="PATH", help="a recording, run directory, dump or merge")
    callgraph.add_argument(
        "-o", dest="output", required=True, metavar="PATH", help="a folder, or FILE.json for one rank"
    )
    callgraph.add_argument("--ops", action="store_true", help="operators too")
    callgraph.add_argument("--rank", type=int, metavar="N", help="this rank alone")
    callgraph.set_defaults(function=export_callgraph)
    add_timeline(formats, "perfetto", "a timeline for ui.perfetto.dev, native")
    chrome = add_timeline(formats, "chrome", "a timeline for chrome://tracing, Perfetto and other readers of its JSON")
    chrome.add_argument(
        "--durations", choices=("jobs", "name", "args"), default="jobs", help="in the names of jobs, of all, of none"
    )


def add_timeline(
    formats: argparse._SubParsersAction[argparse.ArgumentParser], name: str, what: str
) -> argparse.ArgumentParser:
    parser = formats.add_parser(name, help=what, description=f"Write {what}. Record with --timeline first.")
    parser.add_argument("path", metavar="PATH", help="a recording or run directory")
    parser.add_argument("-o", dest="output", required=True, metavar="FILE", help="ending in .gz: compressed")
    parser.add_argument("--rank", type=int, metavar="N", help="this rank alone")
    parser.add_argument("--no-flows", action="store_true", help="no arrows from operators to autograd nodes")
    parser.add_argument("--align", choices=ALIGNMENTS, default="auto", help="how clocks of several ranks are made one")
    parser.add_argument("--strict", action="store_true", help="refuse ranks whose clocks may be off by an unknown time")
    parser.set_defaults(function=export_timeline)
    return parser


def export_timeline(arguments: argparse.Namespace) -> None:
    trace = load(arguments.path, timeline=True)
    durations = getattr(arguments, "durations", "jobs")
    content = trace.export(
        arguments.format,
        rank=arguments.rank,
        durations=durations,
        flows=not arguments.no_flows,
        align=arguments.align,
        strict=arguments.strict,
    )
    if arguments.output.endswith(".gz"):
        content = gzip.compress(content, compresslevel=6, mtime=0)
    write(arguments.output, content)


def export_callgraph(arguments: argparse.Namespace) -> None:
    trace = load(arguments.path)
    ranks = ranks_of(trace) if arguments.rank is None else [arguments.rank]
    ops = "all" if arguments.ops else "none"
    texts = {rank: trace.export("callgraph", rank=rank, ops=ops) for rank in ranks}
    output = Path(arguments.output)
    if output.suffix != ".json" or output.is_dir():
        make_folder(output)
        for rank, text in texts.items():
            write(output / f"call_graph_{rank}.json", text)
    elif len(ranks) == 1:
        write(output, texts[ranks[0]])
    else:
        raise Error(f"{output}: one file cannot hold {len(ranks)} ranks: give -o a folder, or choose one with --rank")


def ranks_of(trace: Trace) -> list[int]:
    return [rank["rank"] for rank in trace.ranks]
