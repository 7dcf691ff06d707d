"""``fastdispatch merge``: many recordings in one file."""

from __future__ import annotations

import argparse

from fastdispatch import merge
from fastdispatch.cli.paths import Input, add_output


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "merge",
        help="merge recordings into one file",
        description="Merge recordings, dumps and merges into one JSON file.",
    )
    parser.add_argument(
        "paths", nargs="+", type=Input, metavar="PATH", help="recordings, dumps, merges, run directories"
    )
    add_output(parser, "write the merge (JSON) to FILE")
    parser.set_defaults(function=run)


def run(arguments: argparse.Namespace) -> None:
    merge(arguments.paths, arguments.output)
