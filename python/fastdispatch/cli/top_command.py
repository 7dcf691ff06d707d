"""``fastdispatch top``: live table of the functions of a running recording."""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import asdict
from typing import Any

from fastdispatch._core import Error
from fastdispatch.cli.numbers import within
from fastdispatch.cli.option_tables import add_options
from fastdispatch.cli.paths import add_input

#: Printed with ``--once``.
_ROWS = 20

_DESCRIPTION = """Show a live table of functions, sorted by self time since the last refresh. Only the files of the run
are read; the processes are not interrupted."""
_OPTIONS = """
--interval S  refresh every S seconds (default: 2)
--once        print one interval and exit
--total       show totals since the start instead of since the last refresh
--json        with --once, print JSON
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("top", help="show a live table of a running recording", description=_DESCRIPTION)
    add_input(parser, "run directory, or recording of one rank")
    add_options(parser, _OPTIONS, interval={"type": within(0.1, 3600), "default": 2.0})
    parser.set_defaults(function=run)


def run(arguments: argparse.Namespace) -> None:
    if arguments.json and not arguments.once:
        raise Error("top: --json requires --once")
    if arguments.once or not sys.stdout.isatty():
        once(arguments)
        return
    from fastdispatch.report.top_app import Top

    Top(arguments.path, arguments.interval, arguments.total).run()


def once(arguments: argparse.Namespace) -> None:
    from fastdispatch.read.live import rates, sample
    from fastdispatch.report.terminal import print_parts, width_of
    from fastdispatch.report.top_text import LiveFindings, findings_now, head, parts

    before = None
    if not arguments.total:
        before = sample(arguments.path)
        time.sleep(arguments.interval)
    after = sample(arguments.path)
    found = rates(before, after)
    if arguments.json:
        rows = [rate.as_json() for rate in found]
        document: dict[str, Any] = {
            "format": "fastdispatch.top",
            "version": 1,
            "head": head(before, after),
            "rows": rows,
        }
        found_now = findings_now(arguments.path)
        document["findings"] = None if found_now is None else found_now.as_json()
        print(json.dumps(document | {"processes": [asdict(group) for group in after.processes]}))
        return
    lines = LiveFindings().refresh(arguments.path)
    print_parts(parts(before, after, found[:_ROWS], lines), sys.stdout, width_of(sys.stdout))
