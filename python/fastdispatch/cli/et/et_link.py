"""``fastdispatch et link``: execution traces with the times and kernels of Kineto traces."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fastdispatch._core import Error
from fastdispatch.cli.et.et_convert import name_outputs, output_folder
from fastdispatch.cli.et.et_files import (
    add_edges,
    add_layout,
    each,
    is_kineto,
    list_traces,
    rank_of,
    warnings,
    write_groups,
)
from fastdispatch.cli.messages import message
from fastdispatch.cli.paths import Input, Output, add_output
from fastdispatch.cli.timeline.timeline_merge import natural
from fastdispatch.read.execution_trace import Identity, et_identity, et_link
from fastdispatch.text.formats import grouped

NOTHING = 1  # was linked


def add(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    link = actions.add_parser(
        "link",
        help="add times and kernels of Kineto traces to execution traces",
        description="Join PyTorch's execution traces with torch.profiler's traces of the same ranks, by "
        '"Record function id". Exit status: 0 linked, 1 a trace of which nothing was linked, 2 not a trace, or traces '
        "of different ranks, processes or times.",
    )
    link.add_argument(
        "et", type=Input, metavar="ET", help="execution trace of PyTorch, or folder of traces, one per rank"
    )
    link.add_argument(
        "kineto",
        type=Input,
        metavar="KINETO",
        nargs="?",
        help="trace of torch.profiler, or folder of traces",
    )
    add_output(
        link,
        "output file: Chakra (.et) or PyTorch (.json), compressed if the name ends in .gz; for several ranks a "
        "name with %%d for the rank, or a folder",
        Output,
    )
    link.add_argument("--force", action="store_true", help="link traces even if their ranks, processes or times differ")
    add_layout(link)
    add_edges(link)
    link.set_defaults(function=run)


def run(arguments: argparse.Namespace) -> int:
    if arguments.kineto is None:
        raise Error(
            f"{arguments.et}: one trace alone: give the execution trace of PyTorch (ExecutionTraceObserver) and the "
            "Kineto trace of the same rank (docs/guides/execution-trace.md)"
        )
    files = list_traces([arguments.et])
    pairs, notes = pair(files, Path(arguments.kineto))
    outputs = name_outputs(arguments.output, files)

    def link(index: int) -> dict[str, Any]:
        path, rank = files[index]
        return et_link(path, pairs[index], outputs[index], edges=arguments.edges, rank=rank, force=arguments.force)

    with output_folder(outputs, arguments.output):
        rows = each(link, len(files))
    if arguments.layout:
        write_groups(Path(outputs[0]).parent, rows)
    for (path, _), kineto, output, row in zip(files, pairs, outputs, rows, strict=True):
        for line in warnings(row):
            message(f"{path}: {line}")
        if path in notes:
            message(f"{path}: {notes[path]}")
        for line in unlinked(row["link"]):
            message(f"{kineto}: {line}")
        counts = f"{grouped(row['nodes'])} nodes, {grouped(row['link']['linked'])} operators linked"
        message(f"{output}: {counts}, {grouped(row['gpu'])} on the GPU, {grouped(row['dependencies'])} dependencies")
    return 0 if all(row["link"]["linked"] for row in rows) else NOTHING


def pair(files: list[tuple[str, int]], kineto: Path) -> tuple[list[str], dict[str, str]]:
    """Return the Kineto trace of each execution trace, and a note on each that the content does not decide.

    Files are paired by process, rank and process groups in them, then by rank in their names.
    """
    if not kineto.is_dir():
        if len(files) != 1:
            raise Error(f"{kineto}: one Kineto trace for {len(files)} execution traces: give a folder of them")
        return [str(kineto)], {}
    found = [path for path in kineto.iterdir() if path.name.endswith((".json", ".json.gz")) and is_kineto(path)]
    traces = [str(path) for path in sorted(found, key=lambda path: natural(path.name))]
    if not traces:
        raise Error(f"{kineto}: no Kineto trace in this folder")
    paths = [path for path, _ in files]
    known = each(lambda index: et_identity([*paths, *traces][index]), len(paths) + len(traces))
    chosen: list[str] = []
    notes: dict[str, str] = {}
    for index, path in enumerate(paths):
        trace, note = match(path, known[index], traces, known[len(paths) :])
        chosen.append(trace)
        notes |= {path: note} if note else {}
    for path in chosen:
        same = [one for one, other in zip(paths, chosen, strict=True) if other == path]
        if len(same) > 1:
            raise Error(f"{path}: matches {' and '.join(same)}: give the files of each rank in a separate command")
    return chosen, notes


def match(path: str, own: Identity, traces: list[str], known: list[Identity]) -> tuple[str, str]:
    """Return the Kineto trace of an execution trace, and a note if only the names decide."""
    rank = rank_of(Path(path).name)
    fits = {}
    for trace, other in zip(traces, known, strict=True):
        facts: list[tuple[Any, Any]] = [(own.pid, other.pid)] if own.pid and other.pid else []
        facts += [(own.rank, other.rank)] if None not in (own.rank, other.rank) else []
        outside = own.rank is None and own.members and other.rank not in (None, *own.members)
        if all(one == two for one, two in facts) and not outside:
            its = rank_of(Path(trace).name) if other.rank is None else other.rank
            fits[trace] = (len(facts), rank >= 0 and its == rank)
    best = [trace for trace, score in fits.items() if score == max(fits.values())]
    if len(best) == 1:
        equal = sum(count == fits[best[0]][0] for count, _ in fits.values())
        if equal == 1:
            return best[0], ""
        return best[0], f"paired with {best[0]} by the rank in its name: the content fits {equal} Kineto traces"
    what = describe(own, rank)
    if not best:
        raise Error(f"{Path(traces[0]).parent}: no Kineto trace of {what}, which {path} needs")
    raise Error(f"{path}: {' and '.join(best)} may each be the Kineto trace of {what}: give the one to link")


def describe(own: Identity, rank: int) -> str:
    number = own.rank if own.rank is not None else rank
    words = [f"rank {number}"] if number >= 0 else []
    if not words and own.members:
        words = [f"one of the ranks {', '.join(map(str, own.members[:8]))}"]
    words += [f"process {own.pid}"] if own.pid else []
    return ", ".join(words) or "an unknown rank and process"


def unlinked(link: dict[str, Any]) -> Iterator[str]:
    """Yield a line per kind of thing that could not be linked."""
    if link["lost"]:
        yield f"{link['trouble']}: {link['lost']} damaged places, {link['lost_bytes']} bytes lost"
    sentences = {
        "only_et": "nodes of the execution trace are not in the Kineto trace: without times",
        "only_kineto": "operators of the Kineto trace are not in the execution trace: skipped",
        "by_order": 'operators found by name and order: the Kineto trace has no "Record function id"',
        "again": "operators with a duplicate number: skipped",
        "by_external": 'kernels without a launch: placed below the operator of their "External id"',
        "alone": "kernels without a launch or an operator: kept without a parent",
        "timeless": "events with an invalid time: skipped",
    }
    for key, text in sentences.items():
        if link[key]:
            yield f"{link[key]} {text}"
    if link["by_order"] and link["unnumbered"]:
        yield f"{link['unnumbered']} operators were not found by name and order: skipped"
    elif link["unnumbered"]:
        yield f'{link["unnumbered"]} operators without a "Record function id": skipped'
    if link["renamed"]:
        yield f"{link['renamed']} operators differ in name between the files and were not linked: {link['example']}"
    if not link["compared"]:
        yield "not checked for the same rank: one of the files has neither rank nor process"
    if link["linked"] == 0:
        yield "nothing was linked: are both files from the same run and rank?"
