"""``fastdispatch timeline cut``: a part of a trace, by time or steps."""

from __future__ import annotations

import argparse
import os
import re
from decimal import Decimal
from typing import Any

from fastdispatch._core import Error, timeline_cut
from fastdispatch.cli.messages import message
from fastdispatch.cli.paths import Input, add_output
from fastdispatch.cli.timeline.timeline_merge import last_steps, native_changes, parse_last, progress_bar
from fastdispatch.read import privacy
from fastdispatch.text.formats import counted

UNITS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}

CutWindow = tuple[int | None, int | None]


def add(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    cut = actions.add_parser(
        "cut",
        help="extract a part of a trace, by time or steps",
        description="Extract the events of a trace that overlap a window. Events are not shortened; pairs and flows "
        "stay complete.",
    )
    cut.add_argument("path", type=Input, metavar="PATH", help="trace")
    add_output(
        cut,
        "output file: native Perfetto if the name ends in .pftrace or .perfetto-trace, else Chrome JSON; compressed if "
        "it ends in .gz",
    )
    window = cut.add_mutually_exclusive_group(required=True)
    window.add_argument(
        "--time",
        type=parse_times,
        metavar="A:B",
        help="keep events between two times since the start, e.g. 1.5s:2s, :200ms or 3s: (units: s, ms, us, ns)",
    )
    window.add_argument("--steps", type=parse_steps, metavar="A:B", help="keep steps A to B-1, or only step N")
    window.add_argument(
        "--last", type=parse_last, metavar="N", help="keep the last N steps of a recording, finished or running"
    )
    cut.set_defaults(function=run)


def parse_times(text: str) -> CutWindow:
    parts = text.split(":")
    if len(parts) != 2:
        raise argparse.ArgumentTypeError(f"{text!r} is not a range of times: write e.g. 1.5s:2s")
    begin, end = map(parse_time, parts)
    if begin is not None and end is not None and begin >= end:
        raise argparse.ArgumentTypeError(f"{text!r} is empty")
    return begin, end


def parse_time(text: str) -> int | None:
    """Return nanoseconds, or None for no bound."""
    if not text.strip():
        return None
    match = re.fullmatch(r"\s*(\d{1,12}(?:\.\d{1,12})?)\s*(s|ms|us|ns)\s*", text, re.ASCII)
    nanoseconds = int(Decimal(match[1]) * UNITS[match[2]]) if match else -1
    if not 0 <= nanoseconds < 1 << 60:
        raise argparse.ArgumentTypeError(f"{text!r} is not a time: write e.g. 200ms (units: s, ms, us, ns)")
    return nanoseconds


def parse_steps(text: str) -> CutWindow:
    match = re.fullmatch(r"(\d{1,18})|(\d{0,18}):(\d{0,18})", text, re.ASCII)
    if match is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a range of steps: write e.g. 10:20")
    if match[1]:
        return int(match[1]), int(match[1]) + 1
    begin, end = (int(part) if part else None for part in (match[2], match[3]))
    if begin is not None and end is not None and begin >= end:
        raise argparse.ArgumentTypeError(f"{text!r} is empty")
    return begin, end


def run(arguments: argparse.Namespace) -> None:
    if arguments.last is not None:
        arguments.steps = last_steps([arguments.path], arguments.last)
    begin, end = arguments.steps or arguments.time
    if os.path.realpath(arguments.path) == os.path.realpath(arguments.output):
        raise Error(f"{arguments.output}: cannot cut a file in place: give another name to -o")
    with progress_bar() as progress:
        made = timeline_cut(
            arguments.path,
            arguments.output,
            begin,
            end,
            steps=arguments.steps is not None,
            progress=progress,
            privacy=privacy.requested(),
        )
    message("; ".join(summary(made)))


def summary(made: dict[str, Any]) -> list[str]:
    rows, events = counted(made["rows"], "row"), counted(made["events"], "event")
    parts = [f"{counted(made['kept'], 'event')} and {rows} of metadata of {events} kept"]
    if made["flows_left"]:
        parts.append(f"{counted(made['flows_left'], 'flow event')} skipped whose flow extends beyond the window")
    if made["timeless"]:
        parts.append(f"{counted(made['timeless'], 'event')} skipped without a time or a ph")
    parts += native_changes(made)
    if made["lost"]:
        lost = counted(made["lost_bytes"], "byte")
        parts.append(f"{made['trouble']}: {counted(made['lost'], 'damaged place')}, {lost} lost")
    if made["repaired"]:
        parts.append(f"{counted(made['repaired'], 'invalid JSON value')} repaired")
    return parts
