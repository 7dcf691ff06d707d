"""``fastdispatch timeline check``: whether a trace is what viewers expect, and where it is not."""

from __future__ import annotations

import argparse
import json
from typing import Any

from fastdispatch._core import timeline_check
from fastdispatch.cli.paths import Input
from fastdispatch.cli.timeline.timeline_merge import list_files, progress_bar
from fastdispatch.read import privacy
from fastdispatch.read.summary import grouped

SCHEMA = "fastdispatch-timeline-check/1"
BROKEN = 1


def add(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    check = actions.add_parser(
        "check",
        help="whether a trace is whole, and where it is not",
        description="Whether a trace is whole: exit status 0; where it is broken: 1; what is no trace: 2.",
    )
    check.add_argument("paths", nargs="+", type=Input, metavar="PATH", help="traces, or folders of them")
    check.add_argument("--json", action="store_true", help="all as JSON")
    check.set_defaults(function=run)


def run(arguments: argparse.Namespace) -> int:
    files = []
    for path in list_files(arguments.paths, ""):
        with progress_bar() as progress:
            found = timeline_check(path, progress=progress, privacy=privacy.wish())
        files.append({"file": privacy.shown(str(path)), **found})
    whole = all(file["whole"] for file in files)
    if arguments.json:
        print(json.dumps({"schema": SCHEMA, "whole": whole, "files": files}))
    else:
        for file in files:
            print("\n".join(lines(file)))
    return 0 if whole else BROKEN


def lines(file: dict[str, Any]) -> list[str]:
    """What was found: a line a kind, and where it is first."""
    broken = sum(fault["count"] for fault in file["faults"] if fault["broken"])
    state = "whole" if file["whole"] else f"broken: {grouped(broken)} faults"
    found = [f"{file['file']}: {state}, {grouped(file['events'])} events"]
    for fault in file["faults"]:
        where = file["trouble"] if fault["kind"] == "damage" else "; ".join(map(place, fault["first"]))
        note = "" if fault["broken"] else " (no fault)"
        found.append(f"  {grouped(fault['count'])} {fault['what']}{note}{': ' + where if where else ''}")
        found.append(f"    {fault['remedy']}")
    if file["left_out"]:
        found.append(f"  {grouped(file['left_out'])} events of threads that are too long were not looked at")
    return found


def place(where: dict[str, int]) -> str:
    return f"byte {where['byte']}" + (f" (event {where['event']})" if where["event"] else "")
