"""DuckDB, the optional engine of data sets."""

from __future__ import annotations

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
