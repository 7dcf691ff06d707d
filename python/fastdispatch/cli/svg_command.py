"""``fastdispatch svg``: the call graph as a picture."""

from __future__ import annotations

import argparse

from fastdispatch import Error, Trace, load
from fastdispatch.cli.numbers import percent, whole
from fastdispatch.cli.output import write
from fastdispatch.cli.paths import Input, OutputFile, Picture
from fastdispatch.read.gate import matches


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("svg", help="the call graph as a picture", description=__doc__)
    add_options(parser, Picture, "the picture, .svg, .png or .pdf; FILE.dot: the text for Graphviz")
    parser.set_defaults(function=run)


def add_options(parser: argparse.ArgumentParser, kind: type[OutputFile], output: str) -> None:
    """Of this command and of ``export dot``."""
    parser.add_argument("path", type=Input, metavar="PATH", help="a recording, run directory, dump or merge")
    parser.add_argument("-o", dest="output", required=True, type=kind, metavar="FILE", help=output)
    parser.add_argument("--style", choices=("default", "classic"), default="default")
    parser.add_argument("--weight", choices=("time", "calls"), default="time", help="what makes a line wide")
    parser.add_argument(
        "--ops",
        nargs="?",
        const="all",
        default="none",
        choices=("all", "top"),
        help="draw operators too; top: those that Python calls, not what they call in turn",
    )
    parser.add_argument("--hide", action="append", default=[], metavar="GLOB", help="delete functions and their edges")
    parser.add_argument(
        "--contract", action="append", default=[], metavar="GLOB", help="join functions with what calls them"
    )
    parser.add_argument("--min", type=percent, metavar="PERCENT", help="fold functions below this share of the time")
    parser.add_argument("--rank", type=whole, metavar="N", help="one rank; otherwise the sum of all")
    parser.add_argument("--all", action="store_true", help="fold nothing")


def check_globs(trace: Trace, arguments: argparse.Namespace) -> None:
    """Raises Error for a glob that no function, operator or package of the recording has."""
    names = {*trace.nodes["key"], *trace.nodes["package"]}
    for option in ("hide", "contract"):
        for glob in getattr(arguments, option):
            if not any(matches(glob, name) for name in names):
                raise Error(
                    f"--{option} {glob}: no function has this key and no package this name: * stands for any text, "
                    "fastdispatch report shows them"
                )


def dot_of(arguments: argparse.Namespace) -> bytes:
    """The picture in Graphviz's language."""
    trace = load(arguments.path)
    check_globs(trace, arguments)
    return trace.export(
        "dot",
        rank=arguments.rank,
        style=arguments.style,
        weight=arguments.weight,
        ops=arguments.ops,
        hide=arguments.hide,
        contract=arguments.contract,
        min_percent=arguments.min,
        all=arguments.all,
    )


def run(arguments: argparse.Namespace) -> None:
    from fastdispatch.page.graphviz import drawn

    write(arguments.output, drawn(dot_of(arguments), arguments.output))
