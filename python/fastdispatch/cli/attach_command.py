"""``fastdispatch attach``: record a running process."""

from __future__ import annotations

import argparse
import os

from fastdispatch.cli.messages import message
from fastdispatch.cli.numbers import count
from fastdispatch.cli.option_tables import add_options

_ATTACH = """Record a Python process that was started without the recorder, from now on, until it ends, --stop ends the
recording, or the given number of steps has passed. Requires Python 3.14 or later, of the same version in both
processes. The process is not stopped."""
_OPTIONS = """
-o, --out DIR  write the recording to DIR (default: $FASTDISPATCH_OUT or fastdispatch-out)
--steps N      end the recording after the current step and N further steps
--stop         end the recording; the process continues without it
pid PID        id of the process
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    attach = commands.add_parser("attach", help="record a running process", description=_ATTACH)
    out = {"default": os.environ.get("FASTDISPATCH_OUT", "fastdispatch-out")}
    add_options(attach, _OPTIONS, out=out, steps=count, pid=count)
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
