"""``fastdispatch stacks``: the current call stacks of every rank of a run."""

from __future__ import annotations

import argparse
import json

from fastdispatch.cli.option_tables import add_options
from fastdispatch.cli.paths import add_input

_DESCRIPTION = """Print the call stacks of every rank of a running, hung or killed run. Equal stacks are grouped, the
largest group last. Only the recordings are read; the processes are not interrupted."""
_OPTIONS = """
--all   print all threads, and long stacks in full
--json  print JSON, with times in nanoseconds
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("stacks", help="print the current call stacks of every rank", description=_DESCRIPTION)
    add_input(parser, "run directory, or recording of one rank")
    add_options(parser, _OPTIONS)
    parser.set_defaults(function=run)


def run(arguments: argparse.Namespace) -> None:
    from fastdispatch.read.live import grouped, position
    from fastdispatch.report.stacks_text import collectives, lines

    incomplete: list[str] = []
    shown, behind = position(arguments.path, incomplete.append)
    with_main = {(each.rank, each.process) for each in shown if each.thread == "main"}
    if not arguments.all:
        shown = [each for each in shown if each.thread == "main" or (each.rank, each.process) not in with_main]
    groups = grouped(shown)
    if arguments.json:
        rows = [{"ranks": [one.rank for one in each], "stacks": [one.as_json() for one in each]} for each in groups]
        print(json.dumps({"format": "fastdispatch.stacks", "version": 1, "groups": rows, "collectives": behind}))
    else:
        print("\n".join([*lines(groups, incomplete, everything=arguments.all), *collectives(behind)]))
