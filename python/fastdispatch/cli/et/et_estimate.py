"""``fastdispatch et estimate``: predicted time of a step if operators or communication change."""

from __future__ import annotations

import argparse
import json
import math
import re
import statistics
import sys
from typing import Any

from fastdispatch._core import et_estimate
from fastdispatch.cli.et.et_files import list_traces
from fastdispatch.cli.messages import message
from fastdispatch.cli.paths import Input

SCHEMA = "fastdispatch-et-estimate/1"
_UNITS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}
_TOP = 15


def add(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    estimate = actions.add_parser(
        "estimate",
        help="predict the time of a step if operators or communication change",
        description="Simulate the dependencies of all ranks with the measured times, changed as given.",
    )
    estimate.add_argument(
        "paths", nargs="+", type=Input, metavar="ET", help="traces with times, one per rank, or folders of traces"
    )
    estimate.add_argument(
        "--scale",
        action="append",
        default=[],
        type=parse_scale,
        metavar="NAME=FACTOR",
        help="multiply the time of operators (with their kernels) or kernels of this name; repeatable",
    )
    estimate.add_argument(
        "--bandwidth", type=parse_factor, default=1.0, metavar="2x", help="multiply the bandwidth of all communication"
    )
    estimate.add_argument(
        "--latency", type=parse_time, default=0, metavar="5us", help="add this time to each communication"
    )
    estimate.add_argument("--json", action="store_true", help="print everything as JSON")
    estimate.set_defaults(function=run)


def parse_scale(text: str) -> tuple[str, float]:
    name, _, factor = text.rpartition("=")
    if not name:
        raise argparse.ArgumentTypeError(f"{text!r}: write NAME=FACTOR, such as aten::mm=0.8")
    return name, number(factor, text, 0.0)


def parse_factor(text: str) -> float:
    return number(text.removesuffix("x"), text, 1e-6)


def number(digits: str, text: str, least: float) -> float:
    try:
        factor = float(digits)
    except ValueError:
        factor = math.nan
    if not least <= factor <= 1e6:
        raise argparse.ArgumentTypeError(f"{text!r}: not a factor: write e.g. 0.8 or 2x")
    return factor


def parse_time(text: str) -> int:
    found = re.fullmatch(r"(-?[\d.]+)(ns|us|ms|s)", text, re.ASCII)
    try:
        return round(float(found[1]) * _UNITS[found[2]]) if found else int("")
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a time: write e.g. 5us") from None


def run(arguments: argparse.Namespace) -> None:
    files = list_traces(arguments.paths)
    made = et_estimate(files, arguments.scale, bandwidth=arguments.bandwidth, latency_ns=arguments.latency)
    names = {row["name"] for row in made["critical_path"]}
    if arguments.json:
        print(json.dumps({"schema": SCHEMA, "error": error_of(made), **made}))
        return
    if made["mismatches"] or made["broken"]:
        message(
            "collectives or messages of the ranks do not match and are simulated without their peers from there on: "
            "see et check"
        )
    if made["untimed"]:
        message(f"{made['untimed']} nodes without times are simulated with a duration of 0")
    show(made, names)


def spans_of(made: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the steps, or the whole trace if it has none."""
    return list(made["steps"]) or [made]


def error_of(made: dict[str, Any]) -> float:
    """Return the error of the model: replayed against measured time, the median over steps."""
    errors = [
        abs(span["replayed_ns"] - span["measured_ns"]) / span["measured_ns"]
        for span in spans_of(made)
        if span["measured_ns"] > 0
    ]
    return statistics.median(errors) if errors else 0.0


def show(made: dict[str, Any], names: set[str | None]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    spans = spans_of(made)
    measured, replayed, predicted = (
        statistics.median(span[f"{what}_ns"] for span in spans) for what in ("measured", "replayed", "predicted")
    )
    what = f"step (median of {len(spans)})" if made["steps"] else "trace"
    console = Console(file=sys.stdout, highlight=False)
    change = (predicted - replayed) / replayed if replayed else 0.0
    console.print(f"{what} of {made['ranks']} ranks")
    console.print(f"  measured   {measured / 1e6:12.3f} ms")
    console.print(f"  replayed   {replayed / 1e6:12.3f} ms   error {error_of(made):.2%}")
    console.print(f"  predicted  {predicted / 1e6:12.3f} ms   {change:+.2%}")
    console.print(f"\ncritical path of all, {made['predicted_ns'] / 1e6:.3f} ms, {len(names)} names")
    table = Table(box=None, pad_edge=False)
    for name in ("share", "ms", "times", "rank", "what"):
        table.add_column(name, justify="left" if name == "what" else "right", overflow="fold")
    for row in made["critical_path"][:_TOP]:
        name = row["name"] or "(between operators: Python, waiting)"
        share = row["ns"] / made["predicted_ns"] if made["predicted_ns"] else 0.0
        table.add_row(f"{share:.1%}", f"{row['ns'] / 1e6:.3f}", str(row["count"]), str(row["rank"]), Text(name))
    console.print(table)
