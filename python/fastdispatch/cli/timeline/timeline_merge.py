"""``fastdispatch timeline merge``: traces of many ranks in one file."""

from __future__ import annotations

import argparse
import gzip
import os
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from fastdispatch import load
from fastdispatch._core import Error
from fastdispatch.cli.messages import message
from fastdispatch.cli.numbers import step_range
from fastdispatch.cli.option_tables import add_options
from fastdispatch.cli.paths import Input, Output
from fastdispatch.cli.progress_bar import progress_bar
from fastdispatch.files.output import new_folder
from fastdispatch.files.regular import open_regular
from fastdispatch.files.run_directory import MANIFEST
from fastdispatch.files.run_sources import found_in
from fastdispatch.read.clock_alignment import Aligner
from fastdispatch.read.paddle_log import FORMAT, as_chrome_json
from fastdispatch.read.timeline_inputs import merge_files
from fastdispatch.text.formats import counted, spans

ALIGNMENTS = ("auto", "none", "wall", "pingpong", "collective", "p2p", "start")

#: Greater numbers in names of traces are times or process ids.
MOST_RANKS = 1 << 21

UNITS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}

#: Endings of timelines in a folder.
ENDINGS = (".fd", ".json", ".json.gz")
#: Events that a merge changes or skips.
NATIVE = {
    "aside": ("slice", "moved to another track because of an overlap within a thread"),
    "crossed": ("slice", "ended with the enclosing slice"),
    "alone": ("end", "without a begin skipped"),
    "skipped": ("event", "without a native form skipped"),
    "early": ("event", "before time 0 skipped"),
    "overlaps": (
        "slice",
        "with a partial overlap within a thread: Perfetto drops such slices from Chrome JSON, not from .pftrace",
    ),
}

#: The begin of a merge.
MERGED = re.compile(rb'\{\s?"mergedFiles":(\d{1,9}),')

#: The log of a worker of Paddle.
LOG = re.compile(r"workerlog\.(\d{1,5})", re.ASCII)

_INPUTS = """
paths [PATH...]           timelines, or folders of timelines
--log_dir, --log-dir DIR  same as PATH
"""
_OUTPUT = """
-o FILE         output file: native Perfetto if the name ends in .pftrace or .perfetto-trace, else Chrome JSON;
                compressed if it ends in .gz; with --paddle a folder
--ranks LIST    merge only these ranks, e.g. 0,2-3
--devices LIST  merge only the logs workerlog.N of these N, e.g. 0,2-3
"""
_WINDOW = """
--steps A:B|N|last:N  merge only events that begin in steps A to B-1, in step N, or in the last N steps of recordings,
                      which may be running
--time A:B            merge only events between two times since the start, e.g. 1.5s:2s, :200ms or 3s: (units: s, ms,
                      us, ns)
"""
_PADDLE = """
--durations {args,name}  add durations to the arguments (args, the default), or also to names (name, the default with
                         --paddle)
--paddle                 write pipeline_profile.json and pipeline_profile_perfetto.json, as Paddle's tool does
"""


def add(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    merge = actions.add_parser(
        "merge",
        help="merge timelines of ranks into one",
        description="Merge timelines of ranks into one: recordings, Chrome traces (torch.profiler, VizTracer, others), "
        "plain or compressed, and logs of Paddle (workerlog.N).",
    )
    add_options(merge, _INPUTS, paths=Input, log_dir={"action": "append", "default": [], "type": Input})
    add_options(merge, _OUTPUT, o={"dest": "output", "type": Output}, ranks=parse_ranks, devices=parse_ranks)
    add_options(merge.add_mutually_exclusive_group(), _WINDOW, steps=parse_steps, time=parse_times)
    add_options(merge, "--multi_machine, --multi-machine  read only the subfolders machine* of a folder")
    add_align(merge)
    add_options(merge, _PADDLE)
    add_aligned(merge)
    add_options(merge, "--sorted  sort the events of all files by time")
    merge.set_defaults(function=run)


def add_align(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--align",
        choices=ALIGNMENTS,
        default="auto",
        help="method that aligns the clocks of ranks (default: auto, the best available one for each rank)",
    )


def add_aligned(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--require-aligned-clocks", action="store_true", help="reject ranks whose clock offset is unknown"
    )


def run(arguments: argparse.Namespace) -> None:
    paths = [*arguments.paths, *arguments.log_dir]
    if not paths:
        raise Error("timeline merge: no PATH given")
    output = arguments.output
    if output is None and arguments.paddle:  # the folder of the logs, to which Paddle's tool writes
        first = Path(paths[0])
        output = str(first if first.is_dir() else first.parent)
    if output is None:
        raise Error("timeline merge: no output given: use -o FILE")
    files = list_files(paths, output, arguments.multi_machine)
    inputs = list(with_ranks(files, arguments.devices))
    if isinstance(arguments.steps, int):
        arguments.steps = last_steps([path for path, _ in inputs], arguments.steps)
    if arguments.paddle:
        rows = merge_as_paddle(arguments, inputs, Path(output))
    else:
        rows = merge(arguments, inputs, output, arguments.steps)
    for line in warnings(rows, arguments.ranks, arguments.align, alone=arguments.devices is None):
        message(line)


def merge(
    arguments: argparse.Namespace, inputs: list[tuple[str, int]], output: str, steps: tuple[int, int] | None
) -> list[dict[str, Any]]:
    with progress_bar("merging", of_bytes=True) as progress, as_chrome_json(inputs) as given:
        rows = merge_files(
            given,
            output,
            Aligner(arguments.align, arguments.require_aligned_clocks),
            ranks=arguments.ranks,
            sorted=arguments.sorted,
            steps=steps,
            times=arguments.time,
            find_steps=find_steps,
            named_durations=arguments.durations == "name" and not arguments.paddle,
            progress=progress,
        )
    for row, each in zip(rows, given, strict=True):
        row["format"] = FORMAT if len(each) > 2 else row["format"]
    return rows


def find_steps(path: str, first: int, last: int) -> tuple[int, int] | None:
    from fastdispatch.report.trace_outline import find_steps

    return find_steps(path, first, last)


def merge_as_paddle(arguments: argparse.Namespace, inputs: list[tuple[str, int]], folder: Path) -> list[dict[str, Any]]:
    """Merge all steps, then write those of them that are wanted: the files number the steps of all ranks."""
    from fastdispatch.cli.timeline.paddle_profile import write_profile

    with TemporaryDirectory() as made, new_folder(folder):
        merged = Path(made, "merged.json")
        rows = merge(arguments, inputs, str(merged), None)
        jobs = write_profile(merged, rows, folder, arguments.steps, arguments.durations != "args")
    return [row | {"events": jobs.get(row["file"], 0)} for row in rows]


def with_ranks(files: Sequence[Path], devices: Sequence[int] | None) -> Iterator[tuple[str, int]]:
    """Yield each file with the rank in its name. Several folders with logs are machines in the order of the folders,
    with equally many devices."""
    logs = [path for path in files if LOG.fullmatch(path.name)]
    folders = list(dict.fromkeys(path.parent for path in logs))
    per_machine = 1 + max((device_of(path) for path in logs), default=0)
    if devices is not None and not logs:
        raise Error("--devices selects logs of Paddle (workerlog.N): the inputs have none")
    for folder in folders:
        there = {device_of(path) for path in logs if path.parent == folder}
        missing = [device for device in devices or () if device not in there]
        if missing and len(missing) == len(devices or ()) and logs == files:
            raise Error(f"{folder}: no log of device {spans(missing)} (workerlog.N)")
        if missing:
            message(f"{folder}: no log of device {spans(missing)} (workerlog.N)")
    for index, path in enumerate(files):
        if path not in logs:
            yield str(path), rank_in_name(path.name, index)
        elif devices is None or device_of(path) in devices:
            yield str(path), folders.index(path.parent) * per_machine + device_of(path)


def device_of(log: Path) -> int:
    found = LOG.fullmatch(log.name)
    return int(found[1]) if found else 0


def parse_steps(text: str) -> tuple[int, int] | int:
    """``A:B``, where either may be missing, or one step ``N``, as the first and one past the last; the number of
    ``last:N``."""
    match = re.fullmatch(r"last:([1-9]\d{0,8})", text, re.ASCII)
    if match is not None:
        return int(match[1])
    wrong = "is not a range of steps"
    return step_range(text, f"{wrong}: write e.g. 5:8 or last:10", f"{wrong}: it is empty")


def parse_times(text: str) -> tuple[int | None, int | None]:
    """``A:B`` in nanoseconds; either may be missing."""
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


def last_steps(recordings: Sequence[str], count: int) -> tuple[int, int]:
    """Return the range of the last steps that all recordings have."""
    ends = []
    for path in recordings:
        rank = load(path).ranks[0]
        if rank["steps_source"] == "none":
            raise Error(f"{path}: no steps were found: use --time")
        latest = rank["latest_steps"]["number"]
        ends.append(latest[-1] + 1 if latest else 0)
    end = min(ends)
    return max(end - count, 0), end


def parse_ranks(text: str) -> list[int]:
    """``0,2-3`` as numbers."""
    ranks: set[int] = set()
    for part in text.split(","):
        bounds = re.fullmatch(r"(\d+)(?:-(\d+))?", part.strip())
        first, last = (int(bounds[1]), int(bounds[2] or bounds[1])) if bounds else (1, 0)
        if not 0 <= first <= last < MOST_RANKS:
            raise argparse.ArgumentTypeError(f"{text!r} is not a list of ranks: write e.g. 0,2-3")
        ranks.update(range(first, last + 1))
    return sorted(ranks)


def list_files(paths: Iterable[str], output: str, multi_machine: bool = False) -> list[Path]:
    """Return the given files, and those of folders in natural order, without earlier merges in these folders."""
    files: list[Path] = []
    for path in map(Path, paths):
        if not path.is_dir():
            files.append(path)
            continue
        found = in_folder(path, os.path.realpath(output))
        if multi_machine:
            found = [each for each in found if each.parent != path]
        whole = [each for each in found if not is_merge(each)]
        for each in found if whole else []:
            if each not in whole:
                message(f"{each}: skipped: made by an earlier merge of several files")
        found = whole or found
        if not found:
            where = "its folders machine*" if multi_machine else "this folder"
            raise Error(f"{path}: no timeline ({', '.join('*' + end for end in ENDINGS)}, workerlog.N) in {where}")
        files += found
    return files


def in_folder(folder: Path, output: str) -> list[Path]:
    """Return the timelines of a folder in natural order: recordings as other commands read them, and others."""
    recordings, notes = found_in(str(folder))
    for line in notes:
        message(line)
    folders = [folder, *(each for each in folder.iterdir() if each.name.startswith("machine") and each.is_dir())]
    found = [path for each in folders for path in each.iterdir() if is_timeline(path.name) and path.is_file()]
    found += [Path(each) for each in recordings if each.endswith(".fd")]
    found = [each for each in found if os.path.realpath(each) != output]
    return sorted(found, key=lambda each: [natural(part) for part in each.relative_to(folder).parts])


def is_merge(path: Path) -> bool:
    """Return whether the file begins like a merge of several files."""
    if path.suffix == ".fd" or not path.name.endswith(ENDINGS):
        return False
    try:
        with open_regular(path) as file:
            head = MERGED.match(gzip.GzipFile(fileobj=file).read(48) if path.suffix == ".gz" else file.read(48))
    except (OSError, EOFError, zlib.error):
        return False  # the merge reports the error
    return head is not None and int(head[1]) > 1


def is_timeline(name: str) -> bool:
    """Skip recordings, manifests, and results of Paddle's tool among its logs."""
    return bool(LOG.fullmatch(name)) or (
        name.endswith(ENDINGS[1:]) and name != MANIFEST and not name.startswith("pipeline_profile")
    )


def natural(name: str) -> tuple[list[tuple[int, str]], str]:
    """A key that sorts ``r2`` before ``r10``."""
    parts = re.findall(r"\d+|\D+", name)
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts], name


def rank_in_name(name: str, index: int) -> int:
    """The number after ``rank`` or ``r``, else the last number, else the place among the inputs."""
    for pattern in (r"rank[-_=.]?(\d+)", r"(?<![a-z])r[-_=.]?(\d+)", r"(\d+)\D*$"):
        found = re.findall(pattern, name.lower(), re.ASCII)
        if found and int(found[-1]) < MOST_RANKS:
            return int(found[-1])
    return index


def warnings(
    rows: Sequence[dict[str, Any]], wanted: Sequence[int] | None, align: str, alone: bool = True
) -> Iterator[str]:
    """Yield a line per incomplete input, and one for missing ranks unless ``alone`` is false."""
    used = [row for row in rows if row["used"]]
    for row in rows:
        if not row["used"] and not row["left_out"]:
            yield f"{row['file']}: skipped: {row['trouble']}"
        elif row["used"] and (row["lost"] or row["repaired"]):
            yield f"{row['file']}: {', '.join(faults(row))}"
        others = [f"{counted(row[key], noun)} {what}" for key, (noun, what) in NATIVE.items() if row.get(key)]
        if others:
            yield f"{row['file']}: {', '.join(others)}"
    yield from clock_warnings(used, align)
    there = {row["rank"] for row in used}
    expected = wanted or range(max([*(row["world"] for row in used), max(there, default=-1) + 1]))
    missing = [rank for rank in expected if rank not in there]
    if missing and alone:
        yield f"no trace of rank {spans(missing)}"


def clock_warnings(used: Sequence[dict[str, Any]], align: str) -> Iterator[str]:
    for row in used:
        if row["unread"]:
            yield f"{row['file']}: {row['unread']} is not a whole number: not used"
    files = [row["file"] for row in used if row["align"] == "none"]
    if align != "none" and len(files) < len(used) and files:
        named = ", ".join(files[:3]) + (" ..." if len(files) > 3 else "")
        yield f"no common clock: the times of {named} are unchanged"
    guessed = [row["rank"] for row in used if row["align"] == "wall"]
    if align in ("pingpong", "collective", "p2p") and guessed:
        yield f"no {align} to align rank {spans(guessed)} by: the wall clock is used"


def faults(row: dict[str, Any]) -> Iterator[str]:
    """Yield what an input lost and what was repaired."""
    if row["lost"] and row["format"] == "Chrome JSON":
        yield f"{row['trouble']}: {counted(row['lost'], 'damaged place')}"
        yield f"{counted(row['lost_bytes'], 'byte')} lost"
        yield f"{counted(row['events'], 'event')} kept"
    elif row["lost"]:
        yield f"{row['trouble']}; {counted(row['events'], 'event')} kept"
    if row["repaired"]:
        yield f"{counted(row['repaired'], 'invalid JSON value')} repaired"
