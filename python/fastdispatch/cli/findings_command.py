"""``fastdispatch findings``: causes of slow training, with evidence."""

from __future__ import annotations

import argparse
import json

from fastdispatch.cli.numbers import add_steps
from fastdispatch.cli.paths import add_input

_DESCRIPTION = """Print causes of slow training, by estimated gain: the place in the program, the evidence, and what
to do. Detectors without enough evidence are listed as not decided."""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("findings", help="print causes of slow training", description=_DESCRIPTION)
    add_input(parser)
    add_steps(parser)
    parser.add_argument("--json", action="store_true", help="print JSON, with times in nanoseconds")
    parser.set_defaults(function=run)


def run(arguments: argparse.Namespace) -> None:
    from fastdispatch.detectors import findings

    found = findings(arguments.path, steps=arguments.steps)
    print(json.dumps(found.as_json()) if arguments.json else found)
