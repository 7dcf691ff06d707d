"""``fastdispatch dump``: a recording as JSON."""

from __future__ import annotations

import argparse

from fastdispatch import load
from fastdispatch.cli.paths import add_input, add_output


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("dump", help="write a recording as JSON", description="Write a recording as JSON.")
    add_input(parser)
    add_output(parser, "write the JSON to FILE", default="dump.json")
    parser.set_defaults(function=run)


def run(arguments: argparse.Namespace) -> None:
    load(arguments.path).dump(arguments.output)
