"""``fastdispatch report``: tables, call tree, hot paths, callers and callees."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING

from fastdispatch import Error
from fastdispatch.cli import renamed
from fastdispatch.cli.numbers import count, percent, whole, within
from fastdispatch.cli.paths import add_input
from fastdispatch.cli.step_options import add_steps, steps_of
from fastdispatch.read.privacy import shown

if TYPE_CHECKING:
    from fastdispatch.report.run_summary import Summary

_TOP, _LEAST = 20, 1.0

_DESCRIPTION = """Print a recording as a table of functions, operators, modules, packages or phases, as the tree of call
paths, or as the callers and callees of one function. Shares are fractions of the time of the main threads in the steps
that the first lines of the report name."""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("report", help="print a table or tree of a recording", description=_DESCRIPTION)
    add_input(parser)
    parser.add_argument(
        "--by", choices=("function", "operator", "module", "package", "phase"), help="group rows by this"
    )
    parser.add_argument(
        "--sort",
        default="total",
        choices=("calls", "ops", "self", "total", "backward", "spread", "gpu"),
        help="sort by this column (default: total)",
    )
    parser.add_argument("--top", type=count, metavar="N", help=f"print N rows (default: {_TOP}; with --json all)")
    parser.add_argument("--all", action="store_true", help="print all rows, including functions of libraries")
    parser.add_argument("--tree", action="store_true", help="print the tree of call paths")
    parser.add_argument("--depth", type=count, metavar="N", help="limit the tree to N levels")
    parser.add_argument(
        "--min-percent",
        type=percent,
        metavar="PERCENT",
        help="hide branches of the tree below this share of the time (default: 1; with --json 0)",
    )
    renamed.option(parser, "--min", "--min-percent")
    parser.add_argument(
        "--paths",
        type=count,
        nargs="?",
        const=0,
        metavar="N",
        help="print the N hottest paths (default: as many as cover 80 %% of the time)",
    )
    parser.add_argument("--callers", metavar="NAME", help="print the callers of the function whose key contains NAME")
    parser.add_argument("--callees", metavar="NAME", help="print the callees of the function whose key contains NAME")
    parser.add_argument("--summary", action="store_true", help="print the figures of the run for trackers")
    parser.add_argument(
        "--peak-flops",
        type=within(1, 1e30),
        metavar="N",
        help="FLOP/s of one device, for the model FLOPs utilisation of --summary",
    )
    parser.add_argument("--rank", type=whole, metavar="N", help="only this rank")
    add_steps(parser)
    parser.add_argument("--time", action="store_true", help="print times instead of shares")
    parser.add_argument("--json", action="store_true", help="print everything as JSON, with times in nanoseconds")
    parser.set_defaults(function=run)


def run(arguments: argparse.Namespace) -> None:
    from fastdispatch.read.reduced import load_run
    from fastdispatch.report.report_model import Wanted, report

    views = (arguments.callers, arguments.callees, arguments.paths)
    if arguments.tree + arguments.summary + sum(view is not None for view in views) > 1:
        raise Error("--tree, --paths, --callers, --callees and --summary cannot be combined: give only one")
    if arguments.peak_flops is not None and not arguments.summary:
        raise Error("--peak-flops requires --summary")
    neighbours = arguments.callers is not None or arguments.callees is not None
    for option in ("--depth", "--min-percent"):
        if getattr(arguments, option[2:].replace("-", "_")) is not None and not arguments.tree:
            raise Error(f"{option} requires --tree")
    trace = load_run(arguments.path, steps=steps_of(arguments), rank=arguments.rank)
    if arguments.summary:
        print_summary(trace.summary(peak_flops=arguments.peak_flops), arguments.json)
        return
    if arguments.sort == "gpu" and not any(trace.contexts["gpu_calls"]):
        raise Error(f"--sort gpu: {shown(arguments.path)} has no GPU figures: record with --gpu (docs/guides/gpu.md)")
    everything = arguments.all or arguments.json
    wanted = Wanted(
        by=arguments.by or ("node" if neighbours else "function"),
        sort=arguments.sort,
        top=arguments.top if everything else arguments.top or _TOP,
        hide=not everything,
        rank=arguments.rank,
        tree=arguments.tree,
        depth=arguments.depth,
        least=(arguments.min_percent if arguments.min_percent is not None else 0.0 if arguments.json else _LEAST) / 100,
        callers=arguments.callers,
        callees=arguments.callees,
        paths=arguments.paths,
    )
    made = report(trace, wanted)
    if arguments.json:
        print(json.dumps(made.as_json()))
        return
    from fastdispatch.report.report_text import print_report

    print_report(made, sys.stdout, times=arguments.time)


def print_summary(summary: Summary, as_json: bool) -> None:
    if as_json:
        print(json.dumps(summary))
        return
    width = max(map(len, summary))
    for name, value in summary.items():
        print(f"{name:{width}}  {f'{value:.6g}' if isinstance(value, float) else value}")
