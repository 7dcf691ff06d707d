"""Options that select steps of a recording."""

from __future__ import annotations

import argparse

from fastdispatch.cli.timeline.timeline_cut import parse_steps
from fastdispatch.read.trace import Steps

#: No recording has so many steps.
_NO_END = 2**63


def add_steps(parser: argparse.ArgumentParser) -> None:
    group = parser.add_mutually_exclusive_group()
    group.add_argument(
        "--steps",
        type=parse_steps,
        metavar="A:B",
        help="use the figures of steps A to B-1, or of the nearest recorded range (default: the steps after times "
        "have settled)",
    )
    group.add_argument("--all-time", action="store_true", help="use the figures of the whole recording")


def steps_of(arguments: argparse.Namespace) -> Steps:
    """Return the argument ``steps`` of :func:`fastdispatch.load`."""
    if arguments.all_time:
        return None
    if arguments.steps is None:
        return "settled"
    begin, end = arguments.steps
    return begin or 0, (_NO_END if end is None else end) - 1
