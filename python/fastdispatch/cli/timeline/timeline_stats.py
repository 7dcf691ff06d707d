"""``fastdispatch timeline stats``: time of ranks, steps and slices."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from fastdispatch.cli.messages import message
from fastdispatch.cli.numbers import count
from fastdispatch.cli.option_tables import add_options
from fastdispatch.cli.paths import Input, SvgFile
from fastdispatch.cli.progress_bar import progress_bar
from fastdispatch.cli.timeline.timeline_merge import (
    add_align,
    clock_warnings,
    list_files,
    parse_ranks,
    rank_in_name,
)
from fastdispatch.files.output import write
from fastdispatch.text.formats import counted, seconds

_TOP = 20
_INPUTS = """
paths PATH...  merged trace, traces of ranks, or folders of traces
--ranks LIST   use only these ranks, e.g. 0,2-3
"""
_OUTPUT = f"""
--top N     print N rows per table (default: {_TOP})
--json      print everything as JSON, with times in nanoseconds
--svg FILE  also draw the steps of ranks
"""


def add(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    stats = actions.add_parser(
        "stats",
        help="summarize the time of ranks and steps",
        description="Print busy, idle and communication time by rank and step, stragglers, and the slices with most "
        "time.",
    )
    add_options(stats, _INPUTS, paths=Input, ranks=parse_ranks)
    add_align(stats)
    add_options(stats, _OUTPUT, top={"type": count, "default": _TOP}, svg=SvgFile)
    stats.set_defaults(function=run)


def run(arguments: argparse.Namespace) -> None:
    from fastdispatch.report.timeline_figures import read_stats

    files = list_files(arguments.paths, arguments.svg or "")
    inputs = [(str(path), rank_in_name(path.name, index)) for index, path in enumerate(files)]
    with progress_bar("merging", of_bytes=True) as progress:
        made = read_stats(inputs, arguments.align, arguments.ranks, progress)
    for line in warnings(made.files, arguments.align):
        message(line)
    if arguments.svg:
        from fastdispatch.page.timeline_svg import picture

        write(arguments.svg, picture(made).encode("utf-8", "replace"))
    if arguments.json:
        print(json.dumps(made.as_json()))
        return
    from fastdispatch.report.terminal import print_parts
    from fastdispatch.report.timeline_text import parts

    print_parts(parts(made, arguments.top), sys.stdout)


def warnings(files: Sequence[dict[str, Any]], align: str) -> Iterator[str]:
    yield from clock_warnings([row for row in files if row["used"]], align)
    for row in files:
        if not row["used"]:
            yield f"{row['file']}: skipped: {row['trouble']}"
            continue
        faults = []
        if row["lost"]:
            lost = counted(row["lost_bytes"], "byte")
            faults.append(f"{row['trouble']}: {counted(row['lost'], 'damaged place')}, {lost} lost")
        if row["unpaired"]:
            faults.append(f"{counted(row['unpaired'], 'begin or end event')} without a counterpart")
        if row["timeless"]:
            faults.append(f"{counted(row['timeless'], 'slice')} with an invalid time")
        if row["strays"]:
            early = row["stray_ns"] < 0
            reach = f"{'from' if early else 'to'} {seconds(abs(row['stray_ns']))} {'before' if early else 'after'} them"
            faults.append(
                f"{counted(row['strays'], 'slice')} far beyond all others not counted: {row['stray']}, {reach}"
            )
        if faults:
            yield f"{row['file']}: {', '.join(faults)}"
