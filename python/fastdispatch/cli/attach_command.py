"""``fastdispatch attach``: record a running process."""

from __future__ import annotations

import argparse
import os

from fastdispatch.cli.messages import message
from fastdispatch.cli.numbers import count

_ATTACH = """Record a Python process that was started without the recorder, from now on, until it ends, --stop ends the
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
    attach.add_argument("--stop", action="store_true", help="end the recording; the process continues without it")
    attach.add_argument("pid", type=count, metavar="PID", help="id of the process")
    attach.set_defaults(function=run)


def run(arguments: argparse.Namespace) -> None:
    from fastdispatch.read.summary import summary_lines
    from fastdispatch.record.attach import attach, detach

    if arguments.stop:
        for line in summary_lines(detach(arguments.pid)):
            message(line)
        return
    path = attach(arguments.pid, arguments.out, arguments.steps)
    message(f"process {arguments.pid} is recorded in {path}. Next: fastdispatch attach {arguments.pid} --stop")
