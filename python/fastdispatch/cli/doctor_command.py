"""``fastdispatch doctor``: what works on this machine and in this environment."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from fastdispatch.cli.option_tables import add_options
from fastdispatch.cli.paths import LAST_RUN, Given, last_run
from fastdispatch.record.doctor import Check, checks
from fastdispatch.text.formats import aligned, printable

_DESCRIPTION = """Print what the recorder can do here: versions, sources of calls and operators, clock, output folder,
GPU timers, Graphviz, the start-up hook, limits, and the cost of one call and one operator. Write nothing. The exit
status is 1 if Python calls cannot be recorded into the output folder."""
_OPTIONS = f"""
out [DIR]  output folder of the recording to plan (default: $FASTDISPATCH_OUT or {LAST_RUN})
--json     print JSON, with costs in nanoseconds
"""


@dataclass
class Checks:
    """The printed document."""

    checks: list[Check]
    format: Literal["fastdispatch.doctor"] = "fastdispatch.doctor"
    version: Literal[1] = 1


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("doctor", help="print what works on this machine", description=_DESCRIPTION)
    add_options(parser, _OPTIONS, out={"type": Given, "default": Given(last_run())})
    parser.set_defaults(function=run)


def run(arguments: argparse.Namespace) -> int:
    found = list(checks(Path(arguments.out)))
    if arguments.json:
        print(json.dumps(asdict(Checks(found))))
    else:
        rows = [("check", "status", "details"), *((check.id, check.status, printable(check.text)) for check in found)]
        text = "\n".join(_folded(list(aligned(rows))))
        print(text.encode(sys.stdout.encoding, "backslashreplace").decode(sys.stdout.encoding))
    return int(any(check.id == "output" and check.status == "missing" for check in found))


def _folded(lines: list[str]) -> Iterator[str]:
    """Fold the details in a terminal."""
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() or "COLUMNS" in os.environ else sys.maxsize
    under = " " * lines[0].index("details")
    for line in lines:
        yield textwrap.fill(line, max(width, len(under) + 20), subsequent_indent=under, break_on_hyphens=False)
