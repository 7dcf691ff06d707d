"""Queries that only read the tables of a run: for callers that are not trusted."""

from __future__ import annotations

import os
from threading import Timer
from typing import Any

from fastdispatch._core import Error
from fastdispatch.dataset import engine, run_manifest
from fastdispatch.dataset.query import Run, one_line

#: Seconds of a query, and its memory.
_SECONDS, _MEMORY = 60, "2GB"


def lock(run: Run, *paths: str | os.PathLike[str]) -> None:
    """Take access to files, settings and extensions from a run. Only data sets among ``paths`` stay readable."""
    folders = [os.path.realpath(path) for path in paths if run_manifest.is_dataset(path)]
    allowed = ", ".join(map(engine.quoted, folders))
    for setting in (
        "temp_directory = ''",
        f"memory_limit = '{_MEMORY}'",
        f"allowed_directories = [{allowed}]",
        "enable_external_access = false",
        "lock_configuration = true",
    ):
        run.connection.execute(f"SET {setting}")


def select(run: Run, query: str, most: int) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Return the names of columns and the first ``most`` rows of a query. Raises Error unless it is a single SELECT,
    and after a minute."""
    import duckdb

    with one_line():
        statements = run.connection.extract_statements(query)
        if [statement.type for statement in statements] != [duckdb.StatementType.SELECT]:
            raise Error("sql: give a single SELECT statement: the tables are read only")
        timer = Timer(_SECONDS, run.connection.interrupt)
        timer.daemon = True
        timer.start()
        try:
            result = run.connection.execute(query)
            return [column[0] for column in result.description or ()], result.fetchmany(most)
        finally:
            timer.cancel()
