"""SQL on the tables of a run: a data set, or any recording, merge or run directory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastdispatch._core import Error
from fastdispatch.dataset import engine, run_manifest, run_tables
from fastdispatch.dataset.write_dataset import written_in
from fastdispatch.files import run_directory
from fastdispatch.read.trace import load

if TYPE_CHECKING:
    import duckdb

#: Tables with one file for all groups.
_ONE_FILE = ("reduced", *run_tables.SHARED)


def scan(path: str | os.PathLike[str]) -> Run:
    """Open the tables of a run for SQL.

    ``path`` is a data set or a run directory of more than 16 ranks, whose files are read when a query needs them, or a
    recording, run directory, dump or merge, which is loaded. Raises Error for invalid inputs and without DuckDB.
    """
    connection = engine.connect()
    _open(connection, path)
    return Run(connection)


class Run:
    """Tables of a run. Each is an attribute, a ``duckdb.DuckDBPyRelation``: paths, modules, ranks, figures, settled,
    steps, threads, jobs, open_calls, measures, gpu, facts, counters, reduced (docs/formats/columns.md)."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self.connection = connection

    def __getattr__(self, name: str) -> duckdb.DuckDBPyRelation:
        if name not in run_tables.NAMES:
            raise AttributeError(f"no table {name!r}: one of {', '.join(run_tables.NAMES)}")
        return self.connection.table(name)

    def sql(self, query: str) -> duckdb.DuckDBPyRelation:
        """Return the result of a query. Raises Error with one line for an invalid query."""
        with one_line():
            return self.connection.sql(query)

    def recipe(self, name: str) -> duckdb.DuckDBPyRelation:
        """Return the result of a query of :func:`recipes`."""
        return self.sql(recipe(name))


def rows(result: duckdb.DuckDBPyRelation) -> list[tuple[Any, ...]]:
    """Return all rows of a result. Raises Error with one line for a query that fails on the data."""
    with one_line():
        found: list[tuple[Any, ...]] = result.fetchall()
        return found


@contextmanager
def one_line() -> Iterator[None]:
    """Raise an error of DuckDB as an Error with one line."""
    import duckdb

    try:
        yield
    except duckdb.Error as error:
        raise Error(f"sql: {str(error).splitlines()[0]}") from None


def recipes() -> dict[str, str]:
    """Return the names of the built-in queries, each with a line about its result."""
    found = sorted(files("fastdispatch.dataset").joinpath("recipes").iterdir(), key=lambda file: file.name)
    return {
        file.name.removesuffix(".sql"): file.read_text().splitlines()[0].removeprefix("-- ")
        for file in found
        if file.name.endswith(".sql")
    }


def recipe(name: str) -> str:
    """Return the text of a query. Raises Error for an unknown name."""
    if name not in recipes():
        raise Error(f"{name}: no such recipe: one of {', '.join(recipes())}")
    return files("fastdispatch.dataset").joinpath("recipes", f"{name}.sql").read_text()


def _open(connection: duckdb.DuckDBPyConnection, path: str | os.PathLike[str]) -> None:
    folder = Path(path)
    if not run_manifest.is_dataset(path):
        recordings = run_directory.recordings(path)
        if len(recordings) <= run_directory.FEW:
            run_tables.read(connection, load(path))
            return
        folder = written_in(path, recordings)
    _check_files(folder, run_manifest.load(folder))
    for name in run_tables.NAMES:
        source = folder / (f"{name}.parquet" if name in _ONE_FILE else f"{name}/*.parquet")
        connection.execute(f"CREATE VIEW {name} AS {run_tables.rows_of(name, source)}")


def _check_files(folder: Path, manifest: run_manifest.RunManifest) -> None:
    """Raise Error if a file is lost: its ranks would be missing from results."""
    wanted = {f"{table}.parquet" for table in _ONE_FILE}
    wanted |= {f"{table}/{group.name}.parquet" for group in manifest.groups for table in run_tables.PER_RANK}
    there = {str(file.relative_to(folder)) for file in [*folder.glob("*.parquet"), *folder.glob("*/*.parquet")]}
    lost = sorted(wanted - there)
    if lost:
        more = f" and {len(lost) - 1} other files" if len(lost) > 1 else ""
        raise Error(f"{folder / lost[0]}{more}: lost: run fastdispatch merge again with the same inputs")
