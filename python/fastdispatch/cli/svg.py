"""``fastdispatch svg``: the call graph as a picture."""

from __future__ import annotations

import argparse

from fastdispatch import load
from fastdispatch.cli.output import write


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("svg", help="the call graph as a picture", description=__doc__)
    add_options(parser, "the picture; FILE.dot: the text for Graphviz")
    parser.set_defaults(function=run)


def add_options(parser: argparse.ArgumentParser, output: str) -> None:
    """Of this command and of ``export dot``."""
    parser.add_argument("path", metavar="PATH", help="a recording, run directory, dump or merge")
    parser.add_argument("-o", dest="output", required=True, metavar="FILE", help=output)
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
    parser.add_argument("--rank", type=int, metavar="N", help="one rank; otherwise the sum of all")
    parser.add_argument("--all", action="store_true", help="fold nothing")


def percent(text: str) -> float:
    value = float(text.removesuffix("%"))
    if not 0 <= value <= 100:
        raise argparse.ArgumentTypeError(f"{text}: between 0 and 100")
    return value


def dot_of(arguments: argparse.Namespace) -> bytes:
    """The picture in Graphviz's language."""
    return load(arguments.path).export(
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
    dot = dot_of(arguments)
    if str(arguments.output).endswith(".dot"):
        write(arguments.output, dot)
        return
    from fastdispatch.views.svg import layout

    write(arguments.output, layout(dot))
