"""``fastdispatch report``: a table of functions, operators, modules, ...; a tree; hot paths; neighbours."""

from __future__ import annotations

import argparse
import json
import sys

from fastdispatch import Error, load
from fastdispatch.cli.numbers import count, percent, whole
from fastdispatch.cli.paths import Input
from fastdispatch.privacy import shown

_TOP, _LEAST = 20, 1.0

_DESCRIPTION = """What a recording holds: a table of functions, operators, modules, packages or phases, the tree
of call paths, or the callers and callees of one function. Shares are of the time of the main threads, as the second
line says."""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("report", help="a table or tree of a recording", description=_DESCRIPTION)
    parser.add_argument("path", type=Input, metavar="PATH", help="a recording, a run directory, a dump or a merge")
    parser.add_argument("--by", choices=("function", "operator", "module", "package", "phase"), help="what a row is")
    parser.add_argument(
        "--sort",
        default="total",
        choices=("calls", "ops", "self", "total", "backward", "spread", "gpu"),
        help="default: total",
    )
    parser.add_argument("--top", type=count, metavar="N", help=f"rows to show; default: {_TOP}, with --json all")
    parser.add_argument("--all", action="store_true", help="all rows; hide nothing of libraries")
    parser.add_argument("--tree", action="store_true", help="the tree of call paths")
    parser.add_argument("--depth", type=count, metavar="N", help="levels of the tree")
    parser.add_argument("--min", type=percent, metavar="PERCENT", help="smallest branch; default: 1, with --json 0")
    parser.add_argument(
        "--paths", type=count, nargs="?", const=0, metavar="N", help="the N hottest paths; default: 80 %% of the time"
    )
    parser.add_argument("--callers", metavar="NAME", help="who calls the function whose key has NAME in it")
    parser.add_argument("--callees", metavar="NAME", help="whom it calls")
    parser.add_argument("--rank", type=whole, metavar="N", help="one rank only")
    parser.add_argument("--time", action="store_true", help="times in place of shares")
    parser.add_argument("--json", action="store_true", help="everything as JSON, times in nanoseconds")
    parser.set_defaults(function=run)


def run(arguments: argparse.Namespace) -> None:
    from fastdispatch.views.report import Wanted, report

    views = (arguments.callers, arguments.callees, arguments.paths)
    if arguments.tree + sum(view is not None for view in views) > 1:
        raise Error("--tree, --paths, --callers and --callees are four views: give one")
    neighbours = arguments.callers is not None or arguments.callees is not None
    if neighbours and arguments.by == "phase":
        raise Error("--by phase has no callers and no callees")
    for option in ("depth", "min"):
        if getattr(arguments, option) is not None and not arguments.tree:
            raise Error(f"--{option} is of the tree: give --tree too")
    trace = load(arguments.path)
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
        least=(arguments.min if arguments.min is not None else 0.0 if arguments.json else _LEAST) / 100,
        callers=arguments.callers,
        callees=arguments.callees,
        paths=arguments.paths,
    )
    made = report(trace, shown(arguments.path), wanted)
    if arguments.json:
        print(json.dumps(made.as_json()))
        return
    from fastdispatch.views.report_text import print_report

    print_report(made, sys.stdout, times=arguments.time)
