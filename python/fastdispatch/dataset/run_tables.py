"""The tables of a run in SQL, over the columns of a trace: rows refer to call paths by a number that is the same in
every file, and not to rows of one trace."""

from __future__ import annotations

from collections.abc import Sequence
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

#: Kinds of measures that are added up over ranks, and those of memory.
ADDED = ("steps", "shapes", "comm")
MEMORY = ("allocated", "freed", "peak_freed", "peak", "kept", "unfollowed", "refused", "held")


def _threads(trace: str) -> str:
    return f"""
        SELECT t.* EXCLUDE (root) REPLACE (t.role::VARCHAR AS role), c.path AS root
        FROM {trace}_threads t LEFT JOIN {trace}_contexts c ON c.id = t.root"""


#: Tables with rows per rank.
PER_RANK = {
    "ranks": """
        SELECT r.* REPLACE (r.state::VARCHAR AS state, r.steps_source::VARCHAR AS steps_source),
               json_extract_string(h.value::VARCHAR, '$') AS host, json_extract_string(u.value::VARCHAR, '$') AS run
        FROM in_ranks r LEFT JOIN in_facts h ON h.rank = r.rank AND h.key = 'host'
             LEFT JOIN in_facts u ON u.rank = r.rank AND u.key = 'run_id'""",
    "figures": "SELECT * EXCLUDE (context, total), total FROM in_figures",
    "settled": "SELECT * EXCLUDE (context, total), total FROM settled_in_figures",
    "settled_ranks": "SELECT rank, steps, recorded, whole FROM settled_in_ranks",
    "settled_threads": _threads("settled_in"),
    "steps": "SELECT * FROM in_steps",
    "threads": _threads("in"),
    "jobs": """
        SELECT j.* EXCLUDE (context) REPLACE (j.kind::VARCHAR AS kind), c.path AS path
        FROM in_jobs j LEFT JOIN in_contexts c ON c.id = j.context""",
    "open_calls": """
        SELECT o.* EXCLUDE (context), c.path AS path
        FROM in_open_calls o LEFT JOIN in_contexts c ON c.id = o.context""",
    "gpu": "SELECT g.* EXCLUDE (context), c.path FROM in_gpu g JOIN in_contexts c ON c.id = g.context",
    "measures": f"""
        SELECT m.rank, c.path, m.kind::VARCHAR AS kind, m.flags, m.detail::VARCHAR AS detail, m.count, m.sum, m.max,
               m.other
        FROM in_measures m JOIN in_contexts c ON c.id = m.context WHERE m.kind::VARCHAR IN {(*ADDED, *MEMORY)}""",
    "facts": "SELECT rank, key::VARCHAR AS key, value::VARCHAR AS value FROM in_facts",
    "counters": "SELECT rank, counter::VARCHAR AS counter, count FROM in_counters",
}

#: Tables of figures. Their files have other columns and orders, which compress better: the total of most call paths is
#: their self time, and the ranks have similar figures.
_FIGURES = ("figures", "settled")
_TO_FILE = f"""
    SELECT * EXCLUDE (total), least(total::HUGEINT - self::HUGEINT, {2**63 - 1})::BIGINT AS below
    FROM {{table}} ORDER BY path, rank"""
_FROM_FILE = "SELECT * EXCLUDE (below), (self + below)::UBIGINT AS total"

#: Options of Parquet files: a group of 64 ranks with 4 096 call paths is one row group. Columns with more values than
#: the limit have no dictionary: it takes time, and the values without one are smaller when they are compressed.
_PARQUET = "FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 6, ROW_GROUP_SIZE 262144, DICTIONARY_SIZE_LIMIT 1000"


def write_table(connection: duckdb.DuckDBPyConnection, table: str, target: Path) -> None:
    """Write a table of a connection to a file."""
    write_query(connection, (_TO_FILE if table in _FIGURES else "FROM {table}").format(table=table), target)


def write_query(connection: duckdb.DuckDBPyConnection, query: str, target: Path) -> None:
    """Write the result of a query to a file, atomically."""
    partial = target.with_suffix(PARTIAL)
    connection.execute(f"COPY ({query}) TO {engine.quoted(str(partial))} ({_PARQUET})")
    partial.replace(target)


def rows_of(table: str, files: Sequence[Path]) -> str:
    """Return the query for the rows of a table in its files."""
    columns = _FROM_FILE if table in _FIGURES else "SELECT *"
    return f"{columns} FROM {engine.rows_in(files)}"


def bounded(column: str, of: str = "UBIGINT", most: int = 2**64 - 1) -> str:
    """Return a sum that is bounded: figures of a damaged recording may be any number."""
    return f"least(sum({column}), {most})::{of}"


def _quantiles(column: str) -> str:
    """Return the median and the 95th percentile, which DuckDB computes together as they have the same list."""
    found = f"quantile_cont({column}, [0.5, 0.95])"
    return f"{found}[1] AS {column}_median, {found}[2] AS {column}_p95"


#: A figure and its rank as one number: comparing it is much faster than comparing pairs.
_PAIR = 2**32


def most(column: str) -> str:
    """Return the largest figure with the first rank that has it."""
    return f"max({column}::HUGEINT * {_PAIR} + {_PAIR - 1} - rank)"


def least(column: str) -> str:
    """Return the smallest figure with the first rank that has it."""
    return f"min({column}::HUGEINT * {_PAIR} + rank)"


def _ends(column: str) -> str:
    """Return both ends of a figure and the ranks that have them, from what :func:`least` and :func:`most` found."""
    return f"""({column}_low // {_PAIR})::UBIGINT AS {column}_min, ({column}_high // {_PAIR})::UBIGINT AS {column}_max,
        ({column}_low % {_PAIR})::UINTEGER AS {column}_fastest,
        ({_PAIR - 1} - {column}_high % {_PAIR})::UINTEGER AS {column}_slowest"""


#: Columns of the table ``reduced``.
REDUCED = f"""path, ranks, missing, calls, calls_min, calls_max, ops,
    {
    ", ".join(
        f"{name}, {name}_min, {name}_median, {name}_p95, {name}_max, {name}_slowest, {name}_fastest"
        for name in ("self", "total")
    )
}, backward, steps"""


def reduced(figures: str) -> str:
    """Return the query for one row per call path with the sums of a table of figures, whatever the number of
    ranks."""
    return f"""
    SELECT * EXCLUDE (calls_low, calls_high, self_low, self_high, total_low, total_high),
           {_ends("calls")}, {_ends("self")}, {_ends("total")}
    FROM (
        SELECT path, count(*) AS ranks, (SELECT count(*) FROM ranks) - count(*) AS missing,
               {bounded("calls")} AS calls, {bounded("ops")} AS ops, {bounded("self")} AS self, {_quantiles("self")},
               {bounded("total")} AS total, {_quantiles("total")},
               {bounded("backward", "BIGINT", 2**63 - 1)} AS backward, {bounded("steps")} AS steps,
               {
        ", ".join(f"{least(name)} AS {name}_low, {most(name)} AS {name}_high" for name in ("calls", "self", "total"))
    }
        FROM {figures} GROUP BY path)"""


NAMES = (*SHARED, *PER_RANK, "reduced")


def settled_of(trace: Trace) -> Trace | None:
    """Return the settled steps of a trace of whole recordings; None if they are not decided for each rank."""
    settled = Trace(trace.core.settled())
    return settled if settled.window is not None else None


#: Columns of settled steps that differ from those of whole recordings.
_OF_SETTLED = ("contexts", "figures", "ranks", "threads")


def _inputs(connection: duckdb.DuckDBPyConnection, trace: Trace) -> list[str]:
    """Make views of the columns of a trace and of its settled steps, which read the trace each time; return their
    names."""
    names, settled = [], settled_of(trace)
    for prefix, one in (("in", trace), ("settled_in", settled or trace)):
        for name in trace.core.streams() if prefix == "in" else _OF_SETTLED:
            names.append(f"{prefix}_{name}")
            connection.register(f"arrow_{names[-1]}", ArrowTable(one.core, name))
            rows = " LIMIT 0" if one is trace and prefix != "in" else ""
            connection.execute(f"CREATE TEMP VIEW {names[-1]} AS FROM arrow_{names[-1]}{rows}")
    return names


def view(connection: duckdb.DuckDBPyConnection, trace: Trace) -> None:
    """Make the tables of a trace, but ``reduced``, as views of its columns: each query reads the trace again."""
    _inputs(connection, trace)
    for name, query in (SHARED | PER_RANK).items():
        connection.execute(f"CREATE TEMP VIEW {name} AS {query}")


def read(connection: duckdb.DuckDBPyConnection, trace: Trace) -> None:
    """Make the tables of a trace with the data of its columns."""
    inputs = _inputs(connection, trace)
    for name, query in (SHARED | PER_RANK | {"reduced": f"SELECT {REDUCED} FROM ({reduced('figures')})"}).items():
        connection.execute(f"CREATE TABLE {name} AS {query}")
    for name in inputs:
        connection.execute(f"DROP VIEW {name}")
        connection.unregister(f"arrow_{name}")
