"""``fastdispatch et check``: validity of execution traces, and agreement of their ranks."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from typing import Any

from fastdispatch.cli.et.et_files import list_traces, warnings
from fastdispatch.cli.paths import Input
from fastdispatch.compare.et_ranks import compare_ranks, rank_calls
from fastdispatch.read.execution_trace import et_tables
from fastdispatch.text.formats import counted, grouped

SCHEMA = "fastdispatch-et-check/1"
BROKEN = 1
#: Faults of a file with which it is still whole.
HARMLESS = ("repaired", "renumbered", "collectives_unknown", "dtypes_unknown")


def add(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    check = actions.add_parser(
        "check",
        help="check execution traces and the agreement of ranks",
        description="Check ids, parents, dependencies and cycles of each trace, and whether collectives and messages "
        "of all ranks match. Exit status: 0 valid, 1 faults found, 2 not a trace.",
    )
    check.add_argument("paths", nargs="+", type=Input, metavar="ET", help="traces, one per rank, or folders of traces")
    check.add_argument("--json", action="store_true", help="print everything as JSON")
    check.set_defaults(function=run)


def run(arguments: argparse.Namespace) -> int:
    files = list_traces(arguments.paths)
    found, calls = [], []
    for path, rank in files:
        row = et_tables(path, rank=rank)
        calls.append(rank_calls(row))
        found.append({name: value for name, value in row.items() if name != "tables"})
    made = {"files": found, **compare_ranks(calls)}
    rows = [
        {
            "file": path,
            "rank": row["rank"],
            "nodes": row["nodes"],
            "whole": is_whole(row),
            "faults": list(warnings(row)),
        }
        for (path, _), row in zip(files, made["files"], strict=True)
    ]
    good = all(row["whole"] for row in rows) and not made["mismatches"]
    if arguments.json:
        print(json.dumps({"schema": SCHEMA, "good": good, **made, "files": rows}))
        return 0 if good else BROKEN
    for row in rows:
        print(f"{row['file']}: {'whole' if row['whole'] else 'broken'}, {grouped(row['nodes'])} nodes")
        for line in row["faults"]:
            print(f"  {line}")
    print("\n".join(together(made, len(rows))))
    return 0 if good else BROKEN


def is_whole(row: dict[str, Any]) -> bool:
    counts = (value for key, value in row["faults"].items() if key not in HARMLESS)
    return not any(isinstance(value, int) and value for value in counts)


def together(made: dict[str, Any], ranks: int) -> Iterator[str]:
    yield (
        f"{counted(ranks, 'rank')}: {counted(made['collectives'], 'collective')} on all ranks of their groups, "
        f"{counted(made['messages'], 'message')} with both ends, {len(made['mismatches'])} mismatches"
    )
    if made["unknown_peers"]:
        yield f"  {grouped(made['unknown_peers'])} messages with an unknown peer were not compared"
    for mismatch in made["mismatches"]:
        yield f"  {sentence(mismatch)}"


def sentence(mismatch: dict[str, Any]) -> str:
    one, other, number = mismatch["one"], mismatch["other"], mismatch["number"]
    group = f"group {mismatch['group'] or '(not named)'}, collective {number}"
    pair = f"message {number} from rank {one['rank']} to rank {other['rank']}"
    return {
        "kind": f"{group}: rank {one['rank']} is in {call(one)}, rank {other['rank']} in {call(other)}",
        "size": f"{group}: {call(one)} has {one['bytes']} bytes on rank {one['rank']}, {other['bytes']} on rank "
        f"{other['rank']} ({call(other)})",
        "missing": f"{group}: rank {one['rank']} is in {call(one)}, rank {other['rank']} never reaches it",
        "receive": f"{pair} is never received: {call(one)}",
        "send": f"{pair} is never sent: {call(other)} waits for it",
        "message_size": f"{pair}: {one['bytes']} bytes sent ({call(one)}), {other['bytes']} received ({call(other)})",
    }[mismatch["what"]]


def call(row: dict[str, Any]) -> str:
    return f"{row['name']} (node {row['id']})"
