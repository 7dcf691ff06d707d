"""``fastdispatch resume`` and ``pause``: control the recordings of running processes from outside."""

from __future__ import annotations

import argparse

from fastdispatch.cli.messages import message
from fastdispatch.cli.paths import add_input


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    for name in ("pause", "resume"):
        parser = commands.add_parser(
            name,
            help=f"{name} a running recording",
            description=f"{name.capitalize()} a running recording, from the next step of each process.",
        )
        add_input(parser, "run directory, or recording of one rank")
        parser.set_defaults(function=run, on=name == "resume")


def run(arguments: argparse.Namespace) -> None:
    from fastdispatch.read.live import switch

    running, ended = switch(arguments.path, arguments.on)
    word = "resumed" if arguments.on else "paused"
    rest = f"; {len(ended)} ended before" if ended else ""
    plural = "s" * (len(running) != 1)
    message(f"{len(running)} recording{plural} {word} from the next step{rest}")
