"""Call paths and descriptions of groups of ranks, and the sums that are made of them, of settled steps and of whole
recordings (docs/formats/columns.md)."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fastdispatch import _core
from fastdispatch._core import Error
from fastdispatch.dataset import engine, run_tables
from fastdispatch.dataset.reduced import About, about_of, combined
from fastdispatch.dataset.sum_dump import sum_of_ranks
from fastdispatch.read import dump_text
from fastdispatch.read.dump_tables import load_text
from fastdispatch.read.trace import Trace

if TYPE_CHECKING:
    import duckdb

#: Folder of the parts and names of the sums, of settled steps and of whole recordings.
FOLDER, SETTLED, WHOLE = "parts", "settled.json.gz", "whole.json.gz"

#: Two thirds of the time of level 6, for 4 % more.
_LEVEL = 5


def part_of_whole(name: str) -> str:
    """Return the path of the part that every group has."""
    return f"{FOLDER}/{name}.{WHOLE}"


def write_parts(folder: Path, name: str, whole: Trace) -> None:
    """Write the parts of a group. That of settled steps is missing if they are not decided for each of its ranks."""
    (folder / FOLDER).mkdir(exist_ok=True)
    _save_part(whole, folder / part_of_whole(name))
    target, settled = folder / FOLDER / f"{name}.{SETTLED}", run_tables.settled_of(whole)
    if settled is None:
        target.unlink(missing_ok=True)
    else:
        _save_part(settled, target)


def _save_part(trace: Trace, target: Path) -> None:
    paths = "".join(dump_text.parts(trace.core.shared()))
    _save(target, json.dumps({"about": about_of(trace), "paths": paths}))


def write_sums(connection: duckdb.DuckDBPyConnection, folder: Path, names: Iterable[str]) -> None:
    """Write the sums of all groups, over the tables of a connection, and the table ``reduced``; remove parts of other
    groups."""
    known = sorted(names)
    for part in (folder / FOLDER).glob("group-*.gz"):
        if part.name.removesuffix(f".{SETTLED}").removesuffix(f".{WHOLE}") not in known:
            part.unlink()
    for kind in (SETTLED, WHOLE):
        parts = [folder / FOLDER / f"{name}.{kind}" for name in known]
        if all(part.exists() for part in parts):
            about, paths = _read_parts(parts)
            _save(folder / kind, sum_of_ranks(connection, paths, about, settled=kind == SETTLED))
            if kind == WHOLE:  # of the same rows
                query = f"SELECT {run_tables.REDUCED} FROM sums ORDER BY path"
                run_tables.write_query(connection, query, folder / "reduced.parquet")
        else:
            (folder / kind).unlink(missing_ok=True)


def _read_parts(parts: Sequence[Path]) -> tuple[About, _core.Trace]:
    """Return the descriptions and the call paths of groups as one."""
    found = [json.loads(_unpacked(part)) for part in parts]
    try:
        whole = _core.Trace()
        for each in found:
            whole.take(load_text(each["paths"]), "")
        whole.finish()
        return combined([each["about"] for each in found]), whole.shared()
    except Error:
        raise engine.damaged(parts[0].parent) from None


def load_sum(folder: Path, *, settled: bool) -> Trace:
    """Return the sum of the ranks of a data set: of settled steps if they are decided for all ranks, else of the whole
    recordings. Raises Error if it has none, or a damaged one."""
    kind = SETTLED if settled and (folder / SETTLED).is_file() else WHOLE
    if not (folder / kind).is_file():
        raise Error(f"{folder}: no sum of ranks in this data set: run fastdispatch merge RUN -o {folder} again")
    text = _unpacked(folder / kind).decode(errors="surrogateescape")
    try:
        return Trace(load_text(text))
    except Error:
        raise engine.damaged(folder / kind) from None


def _save(target: Path, text: str) -> None:
    """Write a text compressed, atomically."""
    partial = target.with_suffix(run_tables.PARTIAL)
    partial.write_bytes(gzip.compress(text.encode(), _LEVEL, mtime=0))
    partial.replace(target)


def _unpacked(file: Path) -> bytes:
    most = max(1 << 28, 500 * file.stat().st_size)
    try:
        with gzip.open(file) as content:
            text = content.read(most + 1)
    except (OSError, EOFError, zlib.error):
        raise engine.damaged(file) from None
    if len(text) > most:
        raise engine.damaged(file)
    return text
