"""The tables of a run in SQL, over the columns of a trace: rows refer to call paths by a number that is the same in
every file, and not to rows of one trace."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fastdispatch.dataset import engine
from fastdispatch.read.columns import ArrowTable
from fastdispatch.read.trace import Trace

if TYPE_CHECKING:
    import duckdb

#: Suffix of files that are not complete yet.
PARTIAL = ".partial"

#: Bits 0 to 2 of the flags of a context.
_PHASE = "['other', 'forward', 'backward', 'optimizer', 'data'][1 + (c.flags & 7)]"

#: Tables with one row per call path or module, whatever the ranks.
SHARED = {
    "paths": f"""
        SELECT c.path, p.path AS parent, o.path AS origin, n.key, n.kind::VARCHAR AS kind, n."from"::VARCHAR AS source,
               n.file::VARCHAR AS file, n.class::VARCHAR AS class, n.name::VARCHAR AS name,
               n.package::VARCHAR AS package, n.line, m.path AS module, m.class::VARCHAR AS module_class,
               {_PHASE} AS phase
        FROM in_contexts c JOIN in_nodes n ON n.id = c.node LEFT JOIN in_modules m ON m.id = c.module
             LEFT JOIN in_contexts p ON p.id = c.parent LEFT JOIN in_contexts o ON o.id = c.origin""",
    "modules": """
        SELECT m.path, p.path AS parent, m.class::VARCHAR AS class, m.parameters, m.parameter_bytes
        FROM in_modules m LEFT JOIN in_modules p ON p.id = m.parent""",
}

#: What identifies a row of them.
SHARED_KEYS = {"paths": "path", "modules": "path, class"}

#: Tables with rows per rank.
PER_RANK = {
    "ranks": """
        SELECT r.* REPLACE (r.state::VARCHAR AS state, r.steps_source::VARCHAR AS steps_source),
               json_extract_string(h.value::VARCHAR, '$') AS host, json_extract_string(u.value::VARCHAR, '$') AS run
        FROM in_ranks r LEFT JOIN in_facts h ON h.rank = r.rank AND h.key = 'host'
             LEFT JOIN in_facts u ON u.rank = r.rank AND u.key = 'run_id'""",
    "figures": "SELECT * EXCLUDE (context, total), total FROM in_figures",
    "steps": "SELECT * FROM in_steps",
    "threads": """
        SELECT t.* EXCLUDE (root) REPLACE (t.role::VARCHAR AS role), c.path AS root
        FROM in_threads t LEFT JOIN in_contexts c ON c.id = t.root""",
    "jobs": """
        SELECT j.* EXCLUDE (context) REPLACE (j.kind::VARCHAR AS kind), c.path AS path
        FROM in_jobs j LEFT JOIN in_contexts c ON c.id = j.context""",
    "open_calls": """
        SELECT o.* EXCLUDE (context), c.path AS path
        FROM in_open_calls o LEFT JOIN in_contexts c ON c.id = o.context""",
    "facts": "SELECT rank, key::VARCHAR AS key, value::VARCHAR AS value FROM in_facts",
    "counters": "SELECT rank, counter::VARCHAR AS counter, count FROM in_counters",
}

#: Tables whose files have other columns and orders, which compress better: the total of most call paths is their self
#: time, and the ranks have similar figures.
_TO_FILE = {
    "figures": f"""
        SELECT * EXCLUDE (total), least(total::HUGEINT - self::HUGEINT, {2**63 - 1})::BIGINT AS below
        FROM figures ORDER BY path, rank"""
}
_FROM_FILE = {"figures": "SELECT * EXCLUDE (below), (self + below)::UBIGINT AS total"}

#: Options of Parquet files: a group of 64 ranks with 4 096 call paths is one row group. Columns with more values than
#: the limit have no dictionary: it takes time, and the values without one are smaller when they are compressed.
_PARQUET = "FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 6, ROW_GROUP_SIZE 262144, DICTIONARY_SIZE_LIMIT 1000"


def write_table(connection: duckdb.DuckDBPyConnection, table: str, target: Path) -> None:
    """Write a table of a connection to a file."""
    write_query(connection, _TO_FILE.get(table, f"FROM {table}"), target)


def write_query(connection: duckdb.DuckDBPyConnection, query: str, target: Path) -> None:
    """Write the result of a query to a file, atomically."""
    partial = target.with_suffix(PARTIAL)
    connection.execute(f"COPY ({query}) TO {engine.quoted(str(partial))} ({_PARQUET})")
    partial.replace(target)


def rows_of(table: str, files: Path) -> str:
    """Return the query for the rows of a table in its files."""
    return f"{_FROM_FILE.get(table, 'SELECT *')} FROM read_parquet({engine.quoted(str(files))})"


def _sum(column: str, of: str = "UBIGINT", most: int = 2**64 - 1) -> str:
    """A sum that is bounded: figures of a damaged recording may be any number."""
    return f"least(sum({column}), {most})::{of}"


def _quantiles(column: str) -> str:
    """The median and the 95th percentile, which DuckDB computes together as they have the same list."""
    found = f"quantile_cont({column}, [0.5, 0.95])"
    return f"{found}[1] AS {column}_median, {found}[2] AS {column}_p95"


#: The reduced merge: one row per call path, whatever the number of ranks. Of equal ranks the first is named.
REDUCED = f"""
    SELECT path, count(*) AS ranks, (SELECT count(*) FROM ranks) - count(*) AS missing,
           {_sum("calls")} AS calls, min(calls) AS calls_min, max(calls) AS calls_max, {_sum("ops")} AS ops,
           {_sum("self")} AS self, min(self) AS self_min, {_quantiles("self")}, max(self) AS self_max,
           arg_max(rank, (self, -rank::BIGINT)) AS self_slowest, arg_min(rank, (self, rank)) AS self_fastest,
           {_sum("total")} AS total, min(total) AS total_min, {_quantiles("total")}, max(total) AS total_max,
           arg_max(rank, (total, -rank::BIGINT)) AS total_slowest, arg_min(rank, (total, rank)) AS total_fastest,
           {_sum("backward", "BIGINT", 2**63 - 1)} AS backward, {_sum("steps")} AS steps
    FROM figures GROUP BY path"""

NAMES = (*SHARED, *PER_RANK, "reduced")


def view(connection: duckdb.DuckDBPyConnection, trace: Trace) -> None:
    """Make the tables of a trace, but ``reduced``, as views of its columns: each query reads the trace again."""
    for name in trace.core.streams():
        connection.register(f"in_{name}", ArrowTable(trace.core, name))
    for name, query in (SHARED | PER_RANK).items():
        connection.execute(f"CREATE TEMP VIEW {name} AS {query}")


def read(connection: duckdb.DuckDBPyConnection, trace: Trace, names: tuple[str, ...] = NAMES) -> None:
    """Make the tables of a trace with the data of its columns."""
    for name in trace.core.streams():
        stream = ArrowTable(trace.core, name)
        connection.register(f"arrow_{name}", stream)
        connection.execute(f"CREATE TEMP TABLE in_{name} AS FROM arrow_{name}")
        connection.unregister(f"arrow_{name}")
    for name, query in (SHARED | PER_RANK).items():
        if name in names:
            connection.execute(f"CREATE TABLE {name} AS {query}")
    if "reduced" in names:
        connection.execute(f"CREATE TABLE reduced AS {REDUCED}")
    for name in trace.core.streams():
        connection.execute(f"DROP TABLE in_{name}")
