"""``fastdispatch et diff``: differences between two execution traces."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any, Literal

from fastdispatch._core import Error, et_diff
from fastdispatch.cli.et.et_files import ALL, KINDS, add_edges, list_traces, warnings
from fastdispatch.cli.messages import message
from fastdispatch.cli.numbers import count, growth
from fastdispatch.cli.paths import Input
from fastdispatch.text.formats import grouped

SCHEMA = "fastdispatch-et-diff/1"
DIFFERENT = 1
_TOP = 20
#: Characters of a name that stay on one line in a narrow terminal.
_NAME = 24


def add(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    diff = actions.add_parser(
        "diff",
        help="compare two execution traces",
        description="Compare counts, shapes, types, communication, times and dependencies of two traces of one rank, "
        "or of two folders of ranks. Exit status: 0 equal, 1 different, 2 not a trace.",
    )
    diff.add_argument("before", type=Input, metavar="A", help="trace, or folder of traces, one per rank")
    diff.add_argument("after", type=Input, metavar="B", help="trace or folder to compare with")
    diff.add_argument(
        "--threshold",
        type=growth,
        default=10.0,
        metavar="PERCENT",
        help="report changes of times from PERCENT on (default: 10)",
    )
    diff.add_argument("--no-times", action="store_true", help="do not compare times")
    diff.add_argument("--top", type=count, default=_TOP, metavar="N", help=f"print N rows per table (default: {_TOP})")
    diff.add_argument("--json", action="store_true", help="print everything as JSON, with times in nanoseconds")
    add_edges(diff)
    diff.set_defaults(function=run, edges=ALL & ~(1 << KINDS.index("data")))


def run(arguments: argparse.Namespace) -> int:
    pairs, alone = pair(list_traces([arguments.before]), list_traces([arguments.after]))
    if not pairs:
        raise Error(f"et diff: {arguments.before} and {arguments.after} have no rank in common")
    made = et_diff(pairs, edges=arguments.edges, threshold=-1.0 if arguments.no_times else arguments.threshold / 100)
    files = made.pop("files")
    paths = [path for before, after, _ in pairs for path in (before, after)]
    for path, row in zip(paths, files, strict=True):
        for line in warnings(row):
            message(f"{path}: {line}")
    made["equal"] = made["equal"] and not any(alone.values())
    sort(made)
    if arguments.json:
        head = {"schema": SCHEMA, "before": arguments.before, "after": arguments.after}
        print(json.dumps({**head, "alone": alone, **made}))
    else:
        show(made, alone, arguments.top)
    return 0 if made["equal"] else DIFFERENT


def pair(
    before: list[tuple[str, int]], after: list[tuple[str, int]]
) -> tuple[list[tuple[str, str, int]], dict[str, list[int]]]:
    """Files of the same rank; one file and one file are a pair whatever their ranks. And ranks of one side alone."""
    if len(before) == len(after) == 1:
        return [(before[0][0], after[0][0], before[0][1])], {"before": [], "after": []}
    one, other = ({rank: path for path, rank in side} for side in (before, after))
    pairs = [(one[rank], other[rank], rank) for rank in sorted(one.keys() & other.keys())]
    return pairs, {"before": sorted(one.keys() - other.keys()), "after": sorted(other.keys() - one.keys())}


def sort(made: dict[str, Any]) -> None:
    """Sort rows by the size of their change, largest first."""
    made["names"].sort(key=lambda row: (-abs(row["count"][1] - row["count"][0]), -abs(row["ns"][1] - row["ns"][0])))
    made["changed"].sort(key=lambda row: -row["count"])
    made["only"].sort(key=lambda row: -row["nodes"])


def show(made: dict[str, Any], alone: dict[str, list[int]], top: int) -> None:
    before, after = made["nodes"]
    ranks = "1 rank" if made["ranks"] == 1 else f"{made['ranks']} ranks"
    verdict = "equal" if made["equal"] else "different"
    print(f"{ranks}, {grouped(before)} and {grouped(after)} nodes, {grouped(made['paired'])} in both: {verdict}")
    for side, name in (("before", "A"), ("after", "B")):
        if alone[side]:
            print(f"ranks in {name} only, not compared: {', '.join(map(str, alone[side]))}")
    if made["timed"][0] != made["timed"][1]:
        print(f"times are in {'A' if made['timed'][0] > made['timed'][1] else 'B'} only and were not compared")
    counts = [row for row in made["names"] if row["ranks_with_other_counts"]]
    times = [row for row in made["names"] if row["ranks_with_other_times"]]
    times.sort(key=lambda row: -abs(row["ns"][1] - row["ns"][0]))
    table("calls by name", ("A", "B", "change", "ranks", "name"), [count_row(row) for row in counts], top)
    table("times by name, ms", ("A", "B", "change", "ranks", "name"), [time_row(row) for row in times], top)
    rows = [cells for row in made["changed"] for cells in changed_rows(row)]
    table("changed calls", ("times", "ranks", "name", "what", "A", "B"), rows, top)
    rows = [only_row(row) for row in made["only"]]
    table("calls in one trace only", ("in", "times", "nodes", "ranks", "name", "below"), rows, top)
    edges = {kind: row for kind, row in made["edges"].items() if len(set(row.values())) > 1}
    rows = [(grouped(row["before"]), grouped(row["after"]), grouped(row["both"]), kind) for kind, row in edges.items()]
    table("dependencies", ("A", "B", "in both", "kind"), rows, top)


def ranks_of(row: dict[str, int]) -> str:
    return f"{row['first']}" if row["count"] == 1 else f"{row['first']} and {row['count'] - 1} more"


def count_row(row: dict[str, Any]) -> tuple[str, ...]:
    before, after = row["count"]
    change = f"{after - before:+}"
    return grouped(before), grouped(after), change, ranks_of(row["ranks_with_other_counts"]), row["name"]


def time_row(row: dict[str, Any]) -> tuple[str, ...]:
    before, after = row["ns"]
    change = f"{(after - before) / before:+.1%}" if before else "new"
    ranks = ranks_of(row["ranks_with_other_times"])
    return f"{before / 1e6:.3f}", f"{after / 1e6:.3f}", change, ranks, row["name"]


def changed_rows(row: dict[str, Any]) -> list[tuple[str, ...]]:
    """A line for each thing that is not the same."""
    keys = {
        "shapes": ("input_shapes", "output_shapes"),
        "types": ("input_types", "output_types"),
        "communication": ("communication",),
    }
    return [
        (
            grouped(row["count"]),
            ranks_of(row["ranks"]),
            row["name"],
            key.replace("_", " "),
            row["before"][key] or "none",
            row["after"][key] or "none",
        )
        for what in row["what"]
        for key in keys[what]
        if row["before"][key] != row["after"][key]
    ]


def only_row(row: dict[str, Any]) -> tuple[str, ...]:
    side = "A" if row["in"] == "before" else "B"
    below = row["parent"] or "nothing"
    return side, grouped(row["count"]), grouped(row["nodes"]), ranks_of(row["ranks"]), row["name"], below


def table(title: str, names: tuple[str, ...], rows: list[tuple[str, ...]], top: int) -> None:
    """Print a table, unless it is empty."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    if not rows:
        return
    console = Console(file=sys.stdout, highlight=False)
    part = Table(box=None, pad_edge=False)
    texts = names.index("name") if "name" in names else len(names) - 1
    for at, name in enumerate(names):
        longest = max(len(row[at]) for row in rows[:top]) if name == "name" else 0
        side: Literal["left", "right"] = "left" if at >= texts or name == "in" else "right"
        part.add_column(name, justify=side, overflow="fold", min_width=min(longest, _NAME))
    for row in rows[:top]:
        part.add_row(*map(Text, row))
    console.print(f"\n{title}")
    console.print(part)
    if len(rows) > top:
        console.print(f"{grouped(len(rows) - top)} more lines: --top N")
