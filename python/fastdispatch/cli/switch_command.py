"""``fastdispatch on`` and ``off``: recordings of running processes, from outside."""

from __future__ import annotations

import argparse
import sys


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    for name, what in (("on", "a running recording goes on"), ("off", "a running recording pauses")):
        parser = commands.add_parser(
            name, help=what, description=f"{what.capitalize()}, from the next step of each of its processes on."
        )
        parser.add_argument("path", metavar="PATH", help="a run directory, or the recording of one rank")
        parser.set_defaults(function=run, on=name == "on")


def run(arguments: argparse.Namespace) -> None:
    from fastdispatch.read.live import switch

    running, ended = switch(arguments.path, arguments.on)
    word = "on" if arguments.on else "off"
    rest = f"; {len(ended)} have ended" if ended else ""
    plural = "s" * (len(running) != 1)
    print(f"fastdispatch: {len(running)} recording{plural} {word} from the next step{rest}", file=sys.stderr)
