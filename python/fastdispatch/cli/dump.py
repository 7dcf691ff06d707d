"""``fastdispatch dump``: a recording as JSON."""

from __future__ import annotations

import argparse

from fastdispatch import load


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("dump", help="a recording as JSON", description=__doc__)
    parser.add_argument("path", metavar="PATH")
    parser.add_argument("-o", dest="output", required=True, metavar="FILE")
    parser.set_defaults(function=run)


def run(arguments: argparse.Namespace) -> None:
    load(arguments.path).dump(arguments.output)
