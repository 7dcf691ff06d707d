"""``fastdispatch merge``: many recordings into one file."""

from __future__ import annotations

import argparse

from fastdispatch import merge
from fastdispatch.cli.paths import Input, OutputFile


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("merge", help="many recordings into one file", description=__doc__)
    parser.add_argument(
        "paths", nargs="+", type=Input, metavar="PATH", help="recordings, dumps, merges, run directories"
    )
    parser.add_argument("-o", dest="output", required=True, type=OutputFile, metavar="FILE", help="the merge, JSON")
    parser.set_defaults(function=run)


def run(arguments: argparse.Namespace) -> None:
    merge(arguments.paths, arguments.output)
