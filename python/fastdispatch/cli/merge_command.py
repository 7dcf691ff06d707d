"""``fastdispatch merge``: many recordings in one file, or in a data set."""

from __future__ import annotations

import argparse
import os

from fastdispatch._core import Error
from fastdispatch.cli.messages import message
from fastdispatch.cli.option_tables import add_options
from fastdispatch.cli.paths import Input, MergeOutput, add_output
from fastdispatch.cli.progress_bar import progress_bar
from fastdispatch.dataset.run_manifest import is_dataset
from fastdispatch.files.output import check_place
from fastdispatch.read.missing import missing_ranks
from fastdispatch.read.trace import merged

_OPTIONS = """
--runner {processes,dask,ray}  read the ranks of a data set in processes of this machine (default) or in workers of Dask
                               or Ray
--part I/N                     write only groups I, I+N, I+2N, ... of a data set, as one task of a job array; then run
                               merge without --part to complete it
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "merge",
        help="merge recordings into one file or data set",
        description="Merge recordings, dumps and merges of at most 16 ranks into one JSON file, or recordings of any "
        "number of ranks into a data set of Parquet files for SQL. Missing ranks are added to an existing data set.",
    )
    paths = "recordings, dumps, merges, run directories; for a data set also URLs that fsspec reads"
    add_options(parser, f"paths PATH...  {paths}", paths=Input)
    add_output(parser, "write to PATH: JSON, or a data set if it ends in .parquet or /", MergeOutput, "PATH")
    add_options(parser, _OPTIONS, runner={"default": "processes"}, part=_part)
    parser.set_defaults(function=run)


def _part(text: str) -> tuple[int, int]:
    first, _, count = text.partition("/")
    if not (first.isdecimal() and count.isdecimal() and 1 <= int(first) <= int(count)):
        raise argparse.ArgumentTypeError(f"{text!r}: expected I/N, from 1/N to N/N")
    return int(first), int(count)


def run(arguments: argparse.Namespace) -> int:
    if not (arguments.output.endswith((".parquet", os.sep)) or is_dataset(arguments.output)):
        if arguments.part is not None:
            raise Error("merge: --part writes a data set: -o FOLDER.parquet")
        check_place(arguments.output)
        missing = missing_ranks(merged(arguments.paths, arguments.output).ranks)
        if missing:
            message(missing)
        return 0
    from fastdispatch.dataset.write_dataset import write_dataset, write_part

    given = arguments.paths, arguments.output
    if arguments.part is not None:
        with progress_bar("groups of ranks") as progress:
            count = write_part(*given, arguments.part, runner=arguments.runner, progress=progress)
        print(f"part {arguments.part[0]} of {arguments.part[1]}: {count} groups: {arguments.output}")
        return 0
    with progress_bar("groups of ranks") as progress:
        manifest = write_dataset(*given, runner=arguments.runner, progress=progress)
    for reason in manifest.refused.values():
        message(f"skipped: {reason}")
    for line in [*manifest.incomplete, *filter(None, [manifest.missing])]:
        message(line)
    print(f"{len(manifest.ranks)} ranks in {len(manifest.groups)} groups: {arguments.output}")
    return 1 if manifest.refused else 0
