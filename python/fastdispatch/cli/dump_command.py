"""``fastdispatch dump``: a recording as JSON."""

from __future__ import annotations

import argparse

from fastdispatch import load
from fastdispatch.cli.paths import Input, OutputFile


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("dump", help="a recording as JSON", description=__doc__)
    parser.add_argument("path", type=Input, metavar="PATH")
    parser.add_argument("-o", dest="output", required=True, type=OutputFile, metavar="FILE")
    parser.set_defaults(function=run)


def run(arguments: argparse.Namespace) -> None:
    load(arguments.path).dump(arguments.output)
