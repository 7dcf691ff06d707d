"""``fastdispatch attach`` and ``detach``: record a running process."""

from __future__ import annotations

import argparse
import os

from fastdispatch.cli.messages import message
from fastdispatch.cli.numbers import count, within

_ATTACH = """Record a Python process that was started without the recorder, from now on, until it ends, detach ends the
recording, or the given number of steps has passed. Requires Python 3.14 or later, of the same version in both
processes. The process is not stopped."""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    attach = commands.add_parser("attach", help="record a running process", description=_ATTACH)
    attach.add_argument(
        "-o",
        "--out",
        default=os.environ.get("FASTDISPATCH_OUT", "fastdispatch-out"),
        metavar="DIR",
        help="write the recording to DIR (default: $FASTDISPATCH_OUT or fastdispatch-out)",
    )
    attach.add_argument(
        "--steps", type=count, metavar="N", help="end the recording after the current step and N further steps"
    )
    attach.set_defaults(function=run)
    detach = commands.add_parser(
        "detach",
        help="end a recording that attach began",
        description="End a recording that attach began; the process continues without the recorder.",
    )
    detach.set_defaults(function=end)
    for parser in (attach, detach):
        parser.add_argument("pid", type=count, metavar="PID", help="id of the process")
        parser.add_argument(
            "--wait",
            type=within(0, 1e6),
            default=10.0,
            metavar="S",
            help="wait at most S seconds until the main thread runs Python code (default: 10)",
        )


def run(arguments: argparse.Namespace) -> None:
    from fastdispatch.record.attach import attach

    path = attach(arguments.pid, arguments.out, arguments.steps, arguments.wait)
    message(f"process {arguments.pid} is recorded in {path}. Next: fastdispatch detach {arguments.pid}")


def end(arguments: argparse.Namespace) -> None:
    from fastdispatch.read.summary import summary_lines
    from fastdispatch.record.attach import detach

    for line in summary_lines(detach(arguments.pid, arguments.wait)):
        message(line)
