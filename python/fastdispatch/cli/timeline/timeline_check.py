"""``fastdispatch timeline check``: validity of traces, and the places of faults."""

from __future__ import annotations

import argparse
import json
from typing import Any

from fastdispatch.cli.option_tables import add_options
from fastdispatch.cli.paths import Input
from fastdispatch.cli.progress_bar import progress_bar
from fastdispatch.cli.timeline.timeline_merge import list_files
from fastdispatch.text.formats import counted, grouped

SCHEMA = "fastdispatch-timeline-check/1"
BROKEN = 1
_OPTIONS = """
paths PATH...  traces, or folders of traces
--json         print everything as JSON
"""


def add(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    check = actions.add_parser(
        "check",
        help="check traces for faults",
        description="Check traces for faults and print where they are. Traits that profilers write by design are "
        "notes. Exit status: 0 no faults, 1 faults found, 2 not a trace.",
    )
    add_options(check, _OPTIONS, paths=Input)
    check.set_defaults(function=run)


def run(arguments: argparse.Namespace) -> int:
    from fastdispatch.report.trace_faults import check

    files = []
    for path in list_files(arguments.paths, ""):
        with progress_bar("merging", of_bytes=True) as progress:
            found = check(path, progress)
        files.append({"file": str(path), **found})
    whole = all(file["whole"] for file in files)
    if arguments.json:
        print(json.dumps({"schema": SCHEMA, "whole": whole, "files": files}))
    else:
        for file in files:
            print("\n".join(lines(file)))
    return 0 if whole else BROKEN


def lines(file: dict[str, Any]) -> list[str]:
    """Return the lines of a file: one per kind of fault or note, with the first places."""
    faults, notes = (
        sum(fault["count"] for fault in file["faults"] if fault["broken"] is broken) for broken in (True, False)
    )
    state = "whole" if file["whole"] else f"broken: {counted(faults, 'fault')}"
    noted = f", {counted(notes, 'note')}" if notes else ""
    found = [f"{file['file']}: {state}{noted}, {counted(file['events'], 'event')}"]
    for fault in file["faults"]:
        where = file["trouble"] if fault["kind"] == "damage" else "; ".join(map(place, fault["first"]))
        note = "" if fault["broken"] else " (note)"
        found.append(f"  {grouped(fault['count'])} {fault['what']}{note}{': ' + where if where else ''}")
        found.append(f"    {fault['remedy']}")
    if file["left_out"]:
        found.append(f"  {counted(file['left_out'], 'event')} of threads with too many events not checked")
    return found


def place(where: dict[str, int]) -> str:
    return f"byte {where['byte']}" + (f" (event {where['event']})" if where["event"] else "")
