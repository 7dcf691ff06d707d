"""Recordings of real pipelines on gloo ranks: the programs tests/isolated/pipeline_*.py."""

import json
from pathlib import Path
from typing import Any

from tests import processes

IMPORTS = {"deepspeed": "deepspeed", "megatron": "megatron.core", "torch": "torch.distributed.pipelining"}
SENDS = {"SA": "RA", "SG": "RG"}
WAIT = 256  # of a job's flags


def record(program: str, folder: Path, world: int, *arguments: object, **changes: str) -> list[list[dict[str, Any]]]:
    """Run ``tests/isolated/pipeline_PROGRAM.py FOLDER ARGUMENTS`` on ranks and return the JSON lines of each."""
    imports = ("torch", IMPORTS[program])
    ranks = processes.start_ranks(imports, f"pipeline_{program}.py", world, folder, *arguments, **changes)
    printed = processes.outputs(ranks)
    return [[json.loads(line) for line in output.splitlines() if line.startswith("{")] for output in printed]


def rows(jobs: dict[str, list[Any]], **wanted: object) -> list[dict[str, Any]]:
    """The rows of ``Trace.jobs`` in which these columns have these values."""
    names = list(jobs)
    table = [dict(zip(names, row, strict=True)) for row in zip(*jobs.values(), strict=True)]
    return [row for row in table if all(row[name] == value for name, value in wanted.items())]


def transfers(tables: list[dict[str, list[Any]]], iteration: int) -> tuple[set[Any], set[Any]]:
    """The sends and receives of all ranks in an iteration, as (direction, from, to, micro-batch), each once.

    Waits for asynchronous sends are skipped.
    """
    sends, receives = [], []
    for row in (row for table in tables for row in rows(table, iteration=iteration)):
        if row["flags"] & WAIT:
            continue
        if row["kind"] in SENDS:
            sends.append((row["kind"], row["stage"], row["peer"], row["micro_batch"]))
        elif row["kind"] in SENDS.values():
            sent = "SA" if row["kind"] == "RA" else "SG"
            receives.append((sent, row["peer"], row["stage"], row["micro_batch"]))
    assert len(set(sends)) == len(sends)
    assert len(set(receives)) == len(receives)
    return set(sends), set(receives)
