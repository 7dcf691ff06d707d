"""``fastdispatch export``: a recording in the formats of other programs."""

from __future__ import annotations

import argparse
import gzip
import sys
from pathlib import Path

from fastdispatch import Error, Trace, load, tables
from fastdispatch.cli import svg
from fastdispatch.cli.numbers import whole
from fastdispatch.cli.output import make_folder, write
from fastdispatch.cli.paths import DotFile, Input, Output, OutputFile
from fastdispatch.cli.timeline_merge import ALIGNMENTS
from fastdispatch.privacy import shown

FLAMES = {
    "folded": "a line a stack and its weight, for flamegraph.pl, inferno and others",
    "speedscope": "call trees for speedscope.app, one a thread",
    "pprof": "samples with calls, time and GPU time for pprof and what reads its profiles",
}


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("export", help="a recording in another format", description=__doc__)
    formats = parser.add_subparsers(dest="format", metavar="FORMAT", required=True)
    callgraph = formats.add_parser(
        "callgraph",
        help="call_graph_<rank>.json: two sorted lists, functions and 'caller->callee'",
        description="call_graph_<rank>.json, one a rank: two sorted lists of strings, functions and 'caller->callee'.",
    )
    callgraph.add_argument("path", type=Input, metavar="PATH", help="a recording, run directory, dump or merge")
    callgraph.add_argument(
        "-o", dest="output", required=True, type=Output, metavar="PATH", help="a folder, or FILE.json for one rank"
    )
    callgraph.add_argument("--ops", action="store_true", help="operators too")
    callgraph.add_argument("--rank", type=whole, metavar="N", help="this rank alone")
    callgraph.set_defaults(function=export_callgraph)
    for name, what in FLAMES.items():
        add_flame(formats, name, what)
    add_graphml(formats)
    what = "the call graph in Graphviz's language"
    dot = formats.add_parser("dot", help=what, description=f"Write {what}: what svg has Graphviz lay out.")
    svg.add_options(dot, DotFile, "ending in .gz: compressed")
    dot.set_defaults(function=export_dot)
    add_tables(formats)
    add_timeline(formats, "perfetto", "a timeline for ui.perfetto.dev, native")
    chrome = add_timeline(formats, "chrome", "a timeline for chrome://tracing, Perfetto and other readers of its JSON")
    chrome.add_argument(
        "--durations", choices=("jobs", "name", "args"), default="jobs", help="in the names of jobs, of all, of none"
    )


def add_timeline(
    formats: argparse._SubParsersAction[argparse.ArgumentParser], name: str, what: str
) -> argparse.ArgumentParser:
    parser = formats.add_parser(name, help=what, description=f"Write {what}. Record with --timeline first.")
    parser.add_argument("path", type=Input, metavar="PATH", help="a recording or run directory")
    parser.add_argument(
        "-o", dest="output", required=True, type=OutputFile, metavar="FILE", help="ending in .gz: compressed"
    )
    parser.add_argument("--rank", type=whole, metavar="N", help="this rank alone")
    parser.add_argument("--no-flows", action="store_true", help="no arrows between slices")
    parser.add_argument("--align", choices=ALIGNMENTS, default="auto", help="how clocks of several ranks are made one")
    parser.add_argument("--strict", action="store_true", help="refuse ranks whose clocks may be off by an unknown time")
    parser.set_defaults(function=export_timeline)
    return parser


def add_flame(formats: argparse._SubParsersAction[argparse.ArgumentParser], name: str, what: str) -> None:
    parser = formats.add_parser(name, help=what, description=f"Write {what}.")
    add_common(parser)
    if name != "pprof":
        parser.add_argument("--weight", choices=("time", "calls", "gpu"), default="time", help="what makes a call wide")
    parser.set_defaults(function=export_one)


def add_graphml(formats: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    what = "the call graph for networkx, yEd, Gephi"
    parser = formats.add_parser("graphml", help=what, description=f"Write {what}: functions and calls, nothing folded.")
    add_common(parser)
    parser.add_argument(
        "--ops", choices=("none", "top", "all"), default="all", help="operators: none, those that Python calls, all"
    )
    parser.set_defaults(function=export_one)


def add_tables(formats: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    csv = formats.add_parser("csv", help="one table", description="Write one table, a line a row.")
    add_common(csv)
    csv.add_argument("--table", choices=tables.NAMES, default="functions", help="which one")
    csv.set_defaults(function=export_csv)
    sqlite = formats.add_parser("sqlite", help="all tables, for SQL", description="Write all tables as a database.")
    sqlite.add_argument("path", type=Input, metavar="PATH", help="a recording, run directory, dump or merge")
    sqlite.add_argument("-o", dest="output", required=True, type=OutputFile, metavar="FILE", help="replaced as a whole")
    sqlite.set_defaults(function=export_sqlite)


def add_common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", type=Input, metavar="PATH", help="a recording, run directory, dump or merge")
    parser.add_argument(
        "-o", dest="output", required=True, type=OutputFile, metavar="FILE", help="ending in .gz: compressed"
    )
    parser.add_argument("--rank", type=whole, metavar="N", help="this rank alone")


def export_one(arguments: argparse.Namespace) -> None:
    options = {name: getattr(arguments, name) for name in ("weight", "ops") if hasattr(arguments, name)}
    trace = load(arguments.path)
    if options.get("weight") == "gpu" and not any(trace.contexts["gpu_calls"]):
        raise Error(f"--weight gpu: {shown(arguments.path)} has no GPU figures: record with --gpu (docs/guides/gpu.md)")
    write_file(arguments.output, trace.export(arguments.format, rank=arguments.rank, **options))


def export_dot(arguments: argparse.Namespace) -> None:
    write_file(arguments.output, svg.dot_of(arguments))


def export_csv(arguments: argparse.Namespace) -> None:
    table = tables.table(load(arguments.path), arguments.table, arguments.rank)
    write_file(arguments.output, tables.to_csv(table).encode())


def export_sqlite(arguments: argparse.Namespace) -> None:
    large = tables.to_sqlite(load(arguments.path, timeline=True), arguments.output)
    if large:
        print(
            f"fastdispatch: {arguments.output}: {large} numbers of more than 63 bits are text: is it damaged?",
            file=sys.stderr,
        )


def write_file(path: str, content: bytes) -> None:
    """At once; compressed, always to the same bytes, when the name says so."""
    write(path, gzip.compress(content, compresslevel=6, mtime=0) if path.endswith(".gz") else content)


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
    write_file(arguments.output, content)


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
