"""SQL on the tables of a run: a data set, or any recording, merge or run directory."""

from __future__ import annotations

import os
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastdispatch._core import Error
from fastdispatch.dataset import engine, run_manifest, run_tables
from fastdispatch.dataset.write_dataset import written_in
from fastdispatch.files import run_directory, run_sources
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
    return Run(connection, _open(connection, path))


class Run:
    """Tables of a run. Each is an attribute, a ``duckdb.DuckDBPyRelation``: paths, modules, ranks, figures, settled,
    steps, threads, jobs, open_calls, measures, gpu, facts, counters, reduced (docs/formats/columns.md)."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, folder: Path | None = None) -> None:
        self.connection = connection
        self._folder = folder

    def __getattr__(self, name: str) -> duckdb.DuckDBPyRelation:
        if name not in run_tables.NAMES:
            raise AttributeError(f"no table {name!r}: one of {', '.join(run_tables.NAMES)}")
        return self.connection.table(name)

    def sql(self, query: str) -> duckdb.DuckDBPyRelation:
        """Return the result of a query. Raises Error with one line for an invalid query."""
        with engine.one_line("sql"):
            return self.connection.sql(query)

    def recipe(self, name: str) -> duckdb.DuckDBPyRelation:
        """Return the result of a query of :func:`recipes`."""
        return self.sql(recipe(name))

    def rows(self, result: duckdb.DuckDBPyRelation) -> list[tuple[Any, ...]]:
        """Return all rows of a result. Raises Error with one line for a query that fails on the data."""
        try:
            with engine.one_line("sql"):
                found: list[tuple[Any, ...]] = result.fetchall()
                return found
        except Error:
            file = engine.damaged_file(self._folder) if self._folder is not None else None
            if file is None:
                raise
            raise engine.damaged(file) from None


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


def _open(connection: duckdb.DuckDBPyConnection, path: str | os.PathLike[str]) -> Path | None:
    """Make the tables of a run; return the folder of a data set."""
    folder = Path(path)
    if not run_manifest.is_dataset(path):
        recordings = run_sources.recordings(path)
        if len(recordings) <= run_directory.FEW:
            run_tables.read(connection, load(path))
            return None
        folder = written_in(path, recordings)
    files = {name: [folder / f"{name}.parquet"] for name in _ONE_FILE}
    files |= {name: run_manifest.load(folder).files(folder, name) for name in run_tables.PER_RANK}
    _check_files(folder, files)
    with engine.reading(folder):
        for name, found in files.items():
            connection.execute(f"CREATE VIEW {name} AS {run_tables.rows_of(name, found)}")
    return folder


def _check_files(folder: Path, files: dict[str, list[Path]]) -> None:
    """Raise Error if a file is lost: its ranks would be missing from results."""
    lost = sorted(str(file.relative_to(folder)) for found in files.values() for file in found if not file.is_file())
    if lost:
        more = f" and {len(lost) - 1} other files" if len(lost) > 1 else ""
        raise Error(f"{folder / lost[0]}{more}: lost: run fastdispatch merge again with the same inputs")
