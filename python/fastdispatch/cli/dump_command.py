"""``fastdispatch dump``: a recording as JSON."""

from __future__ import annotations

import argparse

from fastdispatch import load
from fastdispatch.cli.paths import Input, add_output


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("dump", help="write a recording as JSON", description="Write a recording as JSON.")
    parser.add_argument("path", type=Input, metavar="PATH", help="recording, run directory, dump or merge")
    add_output(parser, "write the JSON to FILE")
    parser.set_defaults(function=run)


def run(arguments: argparse.Namespace) -> None:
    load(arguments.path).dump(arguments.output)
