"""``fastdispatch export``: a recording in the formats of other tools."""

from __future__ import annotations

import argparse
import gzip
import zlib
from pathlib import Path

from fastdispatch import Trace, load
from fastdispatch._core import Error
from fastdispatch.cli import svg_command
from fastdispatch.cli.messages import message
from fastdispatch.cli.numbers import whole
from fastdispatch.cli.paths import DotFile, Output, OutputFile, add_input, add_output
from fastdispatch.cli.step_options import add_steps, steps_of
from fastdispatch.cli.timeline.timeline_merge import ALIGNMENTS, add_aligned
from fastdispatch.files.output import make_folder, write
from fastdispatch.measures.flops import has_flops
from fastdispatch.read import tables
from fastdispatch.read.privacy import shown

FLAMES = {
    "folded": "folded stacks for flamegraph.pl, inferno and other tools",
    "speedscope": "call trees for speedscope.app, one per thread",
    "pprof": "a profile for pprof with calls, time, GPU time, FLOPs, and communicated and allocated bytes",
}


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
    for name, what in FLAMES.items():
        add_flame(formats, name, what)
    add_graphml(formats)
    what = "the call graph as Graphviz source"
    dot = formats.add_parser("dot", help=what, description=f"Write {what}, from which svg draws its image.")
    svg_command.add_options(dot, DotFile, "output file; compressed if the name ends in .gz")
    dot.set_defaults(function=export_dot)
    add_tables(formats)
    add_prometheus(formats)
    add_otlp(formats)
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
    archive = "; FILE.tar: a trace per rank and a manifest" if name == "perfetto" else ""
    add_output(parser, f"output file; compressed if the name ends in .gz{archive}")
    parser.add_argument("--rank", type=whole, metavar="N", help="export only rank N")
    parser.add_argument("--no-flows", action="store_true", help="omit arrows between slices")
    parser.add_argument(
        "--align",
        choices=ALIGNMENTS,
        default="auto",
        help="method that aligns the clocks of ranks (default: auto, the best available one for each rank)",
    )
    add_aligned(parser)
    parser.set_defaults(function=export_timeline)
    return parser


def add_flame(formats: argparse._SubParsersAction[argparse.ArgumentParser], name: str, what: str) -> None:
    parser = formats.add_parser(name, help=what, description=f"Write {what}.")
    add_common(parser)
    if name == "pprof":
        parser.add_argument(
            "--since",
            type=OutputFile,
            metavar="FILE",
            help="write only what was added since the profile FILE, and replace FILE by the profile of the whole "
            "recording up to now; without FILE, write everything",
        )
        parser.set_defaults(function=export_pprof)
        return
    parser.add_argument(
        "--weight",
        choices=("time", "calls", "gpu", "flops"),
        default="time",
        help="quantity that determines the width of calls (default: time)",
    )
    parser.set_defaults(function=export_one)


def add_graphml(formats: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    what = "call graph for networkx, yEd and Gephi"
    parser = formats.add_parser("graphml", help=what, description=f"Write a {what}, with all functions and calls.")
    add_common(parser)
    parser.add_argument(
        "--ops",
        choices=("none", "top", "all"),
        default="all",
        help="operators to include: none, top (those that Python calls directly) or all (default: all)",
    )
    parser.set_defaults(function=export_one)


def add_tables(formats: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    csv = formats.add_parser("csv", help="one table as CSV", description="Write one table as CSV.")
    add_common(csv)
    csv.add_argument("--table", choices=tables.NAMES, default="functions", help="table to write (default: functions)")
    csv.set_defaults(function=export_csv)
    sqlite = formats.add_parser(
        "sqlite", help="all tables as an SQLite database", description="Write all tables as an SQLite database."
    )
    add_input(sqlite)
    add_output(sqlite, "output file; an existing file is replaced")
    add_steps(sqlite)
    sqlite.set_defaults(function=export_sqlite)


def add_prometheus(formats: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    what = "figures of the run for the textfile collector of Prometheus"
    parser = formats.add_parser("prometheus", help=what, description=f"Write the {what}.")
    add_input(parser)
    add_output(parser, "output file; the collector reads names that end in .prom")
    add_steps(parser)
    parser.set_defaults(function=export_prometheus)


def add_otlp(formats: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    what = "profiles of OpenTelemetry (v1development)"
    parser = formats.add_parser("otlp", help=what, description=f"Write {what}, one of times and one of calls per rank.")
    add_common(parser)
    parser.set_defaults(function=export_otlp)


def add_common(parser: argparse.ArgumentParser) -> None:
    add_input(parser)
    add_output(parser, "output file; compressed if the name ends in .gz")
    parser.add_argument("--rank", type=whole, metavar="N", help="export only rank N")
    add_steps(parser)


def export_one(arguments: argparse.Namespace) -> None:
    options = {name: getattr(arguments, name) for name in ("weight", "ops") if hasattr(arguments, name)}
    trace = load(arguments.path, steps=steps_of(arguments))
    if options.get("weight") == "gpu" and not any(trace.contexts["gpu_calls"]):
        raise Error(f"--weight gpu: {shown(arguments.path)} has no GPU figures: record with --gpu (docs/guides/gpu.md)")
    if options.get("weight") == "flops" and not has_flops(trace.ranks):
        raise Error(f"--weight flops: {shown(arguments.path)} has no FLOPs: record with --measure flops")
    write_file(arguments.output, trace.export(arguments.format, rank=arguments.rank, **options))


def export_pprof(arguments: argparse.Namespace) -> None:
    if arguments.since is None:
        export_one(arguments)
        return
    if arguments.steps is not None:
        raise Error("--since compares profiles of the whole recording: omit --steps")
    whole = load(arguments.path).export("pprof", rank=arguments.rank)
    write_file(arguments.output, added_since(arguments.since, whole))
    write_file(arguments.since, whole)


def added_since(path: str, whole: bytes) -> bytes:
    """Return the part of a profile that is not in the earlier one of a file; all of it without the file, or if that has
    another recording, as after a restart of the job."""
    from fastdispatch.read.pprof_delta import parse_profile, pprof_delta

    if not Path(path).exists():
        return whole
    try:
        content = Path(path).read_bytes()
        old = parse_profile(gzip.decompress(content) if content.startswith(b"\x1f\x8b") else content)
        new = parse_profile(whole)
        if old.time != new.time:
            message(f"{path}: has another recording: the profile begins with the start of this one")
            return whole
        return pprof_delta(new, old)
    except (ValueError, EOFError, zlib.error, OSError) as error:
        raise Error(
            f"{path}: not a profile of fastdispatch export pprof ({error}): give another FILE to --since"
        ) from None
    except Error as error:
        raise Error(f"{path}: {error} Give another FILE to --since") from None


def export_dot(arguments: argparse.Namespace) -> None:
    write_file(arguments.output, svg_command.dot_of(arguments)())


def export_csv(arguments: argparse.Namespace) -> None:
    table = tables.table(load(arguments.path, steps=steps_of(arguments)), arguments.table, arguments.rank)
    write_file(arguments.output, tables.to_csv(table).encode())


def export_sqlite(arguments: argparse.Namespace) -> None:
    large = tables.to_sqlite(load(arguments.path, timeline=True, steps=steps_of(arguments)), arguments.output)
    if large:
        message(
            f"{arguments.output}: {large} numbers of more than 63 bits are stored as text: is the recording damaged?",
        )


def export_prometheus(arguments: argparse.Namespace) -> None:
    from fastdispatch.dataset.run_loading import load_run
    from fastdispatch.report.prometheus_text import prometheus_text

    trace = load_run(arguments.path, steps=steps_of(arguments))
    write_file(arguments.output, prometheus_text(trace.summary(), shown(arguments.path)).encode())


def export_otlp(arguments: argparse.Namespace) -> None:
    from fastdispatch.read.otlp_profile import otlp_profile

    write_file(arguments.output, otlp_profile(load(arguments.path, steps=steps_of(arguments)), arguments.rank))


def write_file(path: str, content: bytes) -> None:
    """Write a file atomically; compress it, reproducibly, if the name ends in .gz."""
    write(path, gzip.compress(content, compresslevel=6, mtime=0) if path.endswith(".gz") else content)


def export_timeline(arguments: argparse.Namespace) -> None:
    trace = load(arguments.path, timeline=True)
    if arguments.format == "perfetto" and arguments.output.endswith((".tar", ".tar.gz")):
        write_file(arguments.output, archive_of(trace, arguments))
        return
    content = trace.export(
        arguments.format,
        rank=arguments.rank,
        durations=getattr(arguments, "durations", "jobs"),
        flows=not arguments.no_flows,
        align=arguments.align,
        strict=arguments.require_aligned_clocks,
    )
    write_file(arguments.output, content)


def archive_of(trace: Trace, arguments: argparse.Namespace) -> bytes:
    from fastdispatch.read.perfetto_archive import perfetto_archive

    if arguments.align != "auto" or arguments.require_aligned_clocks:
        raise Error(f"{arguments.output}: an archive has clocks of --align auto, with their bounds: omit clock options")
    ranks = None if arguments.rank is None else [arguments.rank]
    return perfetto_archive(trace, ranks, flows=not arguments.no_flows)


def export_callgraph(arguments: argparse.Namespace) -> None:
    trace = load(arguments.path)
    ranks = ranks_of(trace) if arguments.rank is None else [arguments.rank]
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


def ranks_of(trace: Trace) -> list[int]:
    return [rank["rank"] for rank in trace.ranks]
