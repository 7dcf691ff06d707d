"""``fastdispatch where``: where every rank of a run is now."""

from __future__ import annotations

import argparse
import json

from fastdispatch.cli.paths import Input

_DESCRIPTION = """Where every rank of a running, hung or killed run is: the open calls of its threads, equal ones
together, the largest group last. It reads the recordings and needs nothing from the processes."""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("where", help="where every rank is now", description=_DESCRIPTION)
    parser.add_argument("path", type=Input, metavar="PATH", help="a run directory, or the recording of one rank")
    parser.add_argument("--threads", action="store_true", help="all threads, not the main ones alone")
    parser.add_argument("--all", action="store_true", help="the outer calls of long stacks too")
    parser.add_argument("--json", action="store_true", help="as JSON, times in nanoseconds")
    parser.set_defaults(function=run)


def run(arguments: argparse.Namespace) -> None:
    from fastdispatch.read.live import grouped, stacks
    from fastdispatch.report.where_text import lines

    incomplete: list[str] = []
    found = [each for each in stacks(arguments.path, incomplete.append) if arguments.threads or each.thread == "main"]
    groups = grouped(found)
    if arguments.json:
        document = {"format": "fastdispatch.where", "version": 1, "groups": [group.as_json() for group in groups]}
        print(json.dumps(document))
    else:
        print("\n".join(lines(groups, incomplete, everything=arguments.all)))
