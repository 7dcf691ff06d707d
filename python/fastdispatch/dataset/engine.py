"""DuckDB, the optional engine of data sets."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from fastdispatch._core import Error

if TYPE_CHECKING:
    import duckdb


def connect(threads: int | None = None) -> duckdb.DuckDBPyConnection:
    """Return a new connection to a database in memory. Raises Error without DuckDB."""
    try:
        import duckdb
    except ModuleNotFoundError:
        raise Error("more than 16 ranks and SQL need DuckDB: pip install 'fastdispatch[scale]'") from None
    connection = duckdb.connect(config={} if threads is None else {"threads": threads})
    connection.execute("SET enable_progress_bar = false")
    return connection


def quoted(text: str) -> str:
    """Return a SQL string."""
    return "'" + text.replace("'", "''") + "'"


def rows_in(files: Sequence[Path]) -> str:
    """Return the SQL for the rows of these Parquet files, whatever characters their paths have."""
    names = (quoted(re.sub(r"[*?[]", r"[\g<0>]", os.path.abspath(file))) for file in files)
    return f"read_parquet([{', '.join(names)}], hive_partitioning = false)"


@contextmanager
def one_line(place: str) -> Iterator[None]:
    """Raise an error of DuckDB as an Error with one line about a place."""
    import duckdb

    try:
        yield
    except duckdb.Error as error:
        raise Error(f"{place}: {(str(error).splitlines() or ['DuckDB fails'])[0]}") from None


@contextmanager
def reading(folder: Path) -> Iterator[None]:
    """Raise an error about the content of a data set as an Error that names the damaged file."""
    import duckdb

    try:
        yield
    except (duckdb.Error, ValueError, LookupError, TypeError, AttributeError) as error:
        file = damaged_file(folder)
        if file is None and isinstance(error, (duckdb.IOException, duckdb.OutOfMemoryException)):
            with one_line(str(folder)):
                raise
        raise damaged(file or folder) from None


def damaged(place: Path) -> Error:
    """Return the error about a damaged data set, or a file of one."""
    return Error(f"{place}: damaged: remove the data set and run fastdispatch merge again")


def damaged_file(folder: Path) -> Path | None:
    """Return the first Parquet file of a data set that cannot be read to its end."""
    connection = connect()
    for file in sorted([*folder.glob("*.parquet"), *folder.glob("*/*.parquet")]):
        try:
            with one_line(""):
                connection.execute(f"SELECT bit_xor(hash(COLUMNS(*))) FROM {rows_in([file])}").fetchall()
        except Error:
            return file
    return None
