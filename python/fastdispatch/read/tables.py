"""The tables of a trace as an SQLite database (docs/formats/exports.md)."""

import os
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fastdispatch import _core
from fastdispatch.read.rank_dicts import facts_of
from fastdispatch.read.trace import Columns, Group, PathLike, Trace

SUMS: dict[str, Group] = {"functions": "function", "operators": "operator", "modules": "module", "packages": "package"}

#: Tables inside the dict of a rank, by their name here.
OF_RANK = {"threads": "threads", "open_calls": "open", "steps": "latest_steps", "step_tops": "step_tops"}

#: Columns whose names here are words of SQL.
IN_SQL = {"where": "place", "from": "came_from"}


def of_ranks(trace: Trace, name: str) -> Columns:
    """Concatenate the tables of ranks, with a first column ``rank``."""
    below: Columns = {"rank": []}
    for one in trace.ranks:
        columns = trace.jobs(one["rank"]) if name == "jobs" else one[OF_RANK[name]]
        for column, values in columns.items():
            below.setdefault(column, []).extend(values)
        below["rank"].extend([one["rank"]] * len(next(iter(columns.values()))))
    return below


def rows(columns: Columns) -> Iterator[tuple[Any, ...]]:
    return zip(*columns.values(), strict=True)


def to_sqlite(trace: Trace, path: PathLike) -> int:
    """Write all tables as a database, atomically: a reader of ``path`` sees the old file or the new one. Raises Error
    if it cannot be written. Returns how many numbers exceed SQLite's 63 bits: they are stored as text."""
    target = Path(path)
    try:
        with tempfile.TemporaryDirectory(prefix=f".{target.name}.", dir=target.parent) as folder:
            temporary = Path(folder) / "new"
            os.close(os.open(temporary, os.O_CREAT | os.O_EXCL, 0o666))
            database = sqlite3.connect(temporary)
            try:
                with database:
                    large = sum(insert(database, name, columns) for name, columns in all_tables(trace))
            finally:
                database.close()
            os.replace(temporary, target)
    except (OSError, sqlite3.Error) as error:
        raise _core.Error(f"{target}: cannot write: {getattr(error, 'strerror', None) or error}") from None
    return large


def all_tables(trace: Trace) -> Iterator[tuple[str, Columns]]:
    for name in ("nodes", "modules", "contexts", "edges"):
        yield name, numbered(getattr(trace, name))
    for name, by in SUMS.items():
        if name != "modules":
            yield name, trace.table(by)
    yield "module_sums", trace.table("module")
    yield "ranks", scalars(trace.ranks)
    yield "facts", facts(trace)
    yield "figures", figures(trace)
    for name in (*OF_RANK, "jobs"):
        yield name, of_ranks(trace, name)


def numbered(columns: Columns) -> Columns:
    """Add a column with the row numbers that other tables refer to."""
    return {"id": list(range(len(next(iter(columns.values()))))), **columns}


def scalars(ranks: list[dict[str, Any]]) -> Columns:
    """Return one row per rank: its numbers and texts, and the counters of dropped events."""
    flat = [
        {k: v for k, v in (rank | rank["counters"]).items() if k != "window" and not isinstance(v, (dict, list))}
        for rank in ranks
    ]
    return {name: [one[name] for one in flat] for name in flat[0]} if flat else {"rank": []}


def facts(trace: Trace) -> Columns:
    """Return facts of the run and notes of damage: rank, key, value (JSON)."""
    found = [(one, key, value) for one in range(len(trace.ranks)) for key, value in facts_of(trace.core, one).items()]
    found += [(one, "note", note) for one, rank in enumerate(trace.ranks) for note in rank["notes"]]
    return {
        "rank": [trace.ranks[one]["rank"] for one, _, _ in found],
        "key": [key for _, key, _ in found],
        "value": [value for _, _, value in found],
    }


def figures(trace: Trace) -> Columns:
    """Return the figures of each rank in each context."""
    below: Columns = {"rank": []}
    for index, rank in enumerate(trace.ranks):
        columns = trace.core.columns("figures", index)
        for column, values in columns.items():
            below.setdefault(column, []).extend(values)
        below["rank"].extend([rank["rank"]] * len(next(iter(columns.values()))))
    return below


def insert(database: sqlite3.Connection, name: str, columns: Columns) -> int:
    """Add a table. Returns how many of its numbers are stored as text."""
    large = 0
    for column, values in columns.items():
        beyond = sum(isinstance(value, int) and not -(2**63) <= value < 2**63 for value in values)
        if beyond:
            large += beyond
            columns = columns | {column: [fitting(value) for value in values]}
    names = ", ".join(f'"{IN_SQL.get(column, column)}"' for column in columns)
    database.execute(f"CREATE TABLE {name} ({names})")
    database.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * len(columns))})", rows(columns))
    return large


def fitting(value: Any) -> Any:
    return str(value) if isinstance(value, int) and not -(2**63) <= value < 2**63 else value
