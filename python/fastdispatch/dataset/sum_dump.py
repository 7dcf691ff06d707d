"""The sum of the ranks of a data set as a dump with one rank (docs/formats/dump.md): one row per call path."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from fastdispatch import _core
from fastdispatch.dataset.reduced import About
from fastdispatch.dataset.run_tables import ADDED, MEMORY, bounded, reduced
from fastdispatch.read import dump_text
from fastdispatch.read.columns import ArrowTable
from fastdispatch.read.dump_tables import EXACT, TABLES
from fastdispatch.read.steps import REDUCED

if TYPE_CHECKING:
    import duckdb

#: The rank number of a sum.
_SUM = 2**32 - 1

#: Names of the values of columns in dumps.
_NAMES = {table: {name: names for name, _, names, *_ in columns} for table, columns in TABLES.items()}
_SOURCES = _NAMES["rank"]["steps_source"]

#: Tables of a single rank only.
_EMPTY = ("open", "latest_steps", "step_tops")


def _squares(column: str) -> str:
    """Return a sum of doubles that does not depend on their order."""
    return f"sum(if({column} > 0, if({column} < 1e34, {column}, 1e34), 0)::HUGEINT)::DOUBLE"


#: The slowest step of a call path on a rank, and the mean of the others (csrc/profile/totals.c, ``fd_figure_steady``).
_SLOWEST = "if(self_max < stepped, self_max, stepped)"  # least() is slow
_MEAN = f"((stepped - {_SLOWEST}) // (steps - 1))"
_LATE = f"CASE WHEN steps > 1 AND {_SLOWEST} > {_MEAN} THEN {_SLOWEST} - {_MEAN} ELSE 0 END"
_LATE_SQUARES = f"CASE WHEN steps > 1 THEN self_max::DOUBLE ** 2 - {_MEAN}::DOUBLE ** 2 ELSE 0 END"


def _more(settled: bool) -> str:
    """Return the query for figures that are not in the table ``reduced``. Of settled steps the slowest counts."""
    late, squares = ("0", "0") if settled else (_LATE, _LATE_SQUARES)
    return f"""
    SELECT path,
    {bounded("resumes")} AS resumes, {bounded("self::HUGEINT + async")} AS own, {bounded("stepped")} AS all_stepped,
    max(steps) AS most_steps, max(last_step) AS latest_step,
    coalesce(min(self_min) FILTER (steps > 0), 0) AS step_self_min, max(self_max) AS step_self_max,
    coalesce(min(total_min) FILTER (steps > 0), 0) AS step_total_min, max(total_max) AS step_total_max,
    {_squares("self_squares")} AS self_squares, {_squares("total_squares")} AS total_squares,
    {bounded("CASE WHEN steps > 1 THEN self_min::HUGEINT * steps ELSE 0 END")} AS least,
    {bounded(late)} AS late, {_squares(squares)} AS late_squares
    FROM {"settled" if settled else "figures"} GROUP BY path"""


#: Tables of the sum, from the rows ``sums`` with the number of their call path.
_FIGURES = """
    SELECT context, calls, resumes, own AS self, all_stepped AS stepped, most_steps AS steps, latest_step AS last_step,
           step_self_min AS self_min, step_self_max AS self_max, self_squares, step_total_min AS total_min,
           step_total_max AS total_max, total_squares
    FROM sums WHERE calls > 0 OR resumes > 0 OR own > 0 OR most_steps > 0"""
_SPREADS = """
    SELECT context, ranks, calls_min, calls_max, calls_fastest AS calls_min_rank, calls_slowest AS calls_max_rank,
           self_min, self_max, self_fastest AS self_min_rank, self_slowest AS self_max_rank,
           total_min, total_max, total_fastest AS total_min_rank, total_slowest AS total_max_rank,
           round(self_median)::UBIGINT AS self_median, round(self_p95)::UBIGINT AS self_p95,
           round(total_median)::UBIGINT AS total_median, round(total_p95)::UBIGINT AS total_p95,
           least, late, late_squares
    FROM sums"""
_GPU_SUMS = ("calls", "total", "self", "starved", "drained", "launch_bound", "bytes")
_GPU = f"""
    SELECT id AS context, {", ".join(f"{bounded(name)} AS {name}" for name in _GPU_SUMS)},
           coalesce(min(device), -1) AS device, coalesce(min(stream), -1) AS stream
    FROM gpu JOIN of_paths USING (path) GROUP BY id"""

_RANKS = f"""
    SELECT max(world) AS world, if(count(DISTINCT state) = 1, any_value(state), 'unknown') AS state,
           min(timing) > 0 AS timing, NOT bool_or(incomplete) AS complete,
           {_SOURCES}[max(list_position({_SOURCES}, steps_source))] AS steps_source,
           {bounded("s.steps")} AS steps, {bounded("s.recorded")} AS recorded, {bounded("file_bytes")} AS file_bytes,
           min(started) AS started, count(*) AS ranks,
           {bounded("if(s.whole > 0, s.whole, s.recorded)")} AS whole
    FROM ranks JOIN (SELECT rank, steps, recorded, whole FROM {{ranks}}) s USING (rank)"""

_THREADS = f"""
    SELECT role, 0 AS system_id, coalesce(id, -1) AS root, bool_or(running) AS running,
           {", ".join(f"{bounded(name)} AS {name}" for name in ("served", "covered", "self", "events", "events_lost"))},
           {bounded("cpu")} AS cpu, 0 AS covered_from, 0 AS covered_to, 0 AS cpu_from, 0 AS cpu_to
    FROM {{threads}} t LEFT JOIN of_paths p ON t.root = p.path GROUP BY role, id ORDER BY role, id"""

_RANGE = ("ranks", "range_min", "range_max", "range_min_rank", "range_max_rank")

#: Different shapes of a call path in a sum, as in a recording: they would grow with the number of ranks.
_SHAPES = 1024

#: The sums of counts, with the range over ranks, and the memory of the rank with the highest peak. Calls with further
#: shapes of a path are in its row without detail, which has no range.
_MEASURES = f"""
    WITH one AS (
        SELECT *, CASE WHEN kind = 'comm' AND other > sum THEN other ELSE sum END AS value FROM measures),
    added AS (
        SELECT id, kind, flags, detail, sum(count) AS count, sum(sum) AS sum, max(max) AS max, sum(other) AS other,
               count(*) AS ranks, min(value) AS range_min, max(value) AS range_max,
               arg_min(rank, (value, rank)) AS range_min_rank, arg_max(rank, (value, -rank::BIGINT)) AS range_max_rank
        FROM one JOIN of_paths USING (path) WHERE kind IN {ADDED} GROUP BY id, kind, flags, detail),
    placed AS (
        SELECT *, kind = 'shapes' AND row_number() OVER (
            PARTITION BY id, kind ORDER BY detail = '', md5(detail), flags) > {_SHAPES} AS further FROM added),
    highest AS (SELECT rank FROM measures WHERE kind = 'peak' ORDER BY max DESC, rank LIMIT 1)
    SELECT id AS context, kind, flags, if(further, '', detail) AS detail, {bounded("count")} AS count,
           {bounded("sum")} AS sum, max(max) AS max, {bounded("other")} AS other,
           {", ".join(f"max(if(further, 0, {name})) AS {name}" for name in _RANGE)}
    FROM placed GROUP BY ALL
    UNION ALL
    SELECT id, kind, flags, detail, count, sum, max, CASE WHEN kind = 'peak' THEN rank ELSE other END, 0, 0, 0, 0, 0
    FROM measures JOIN highest USING (rank) JOIN of_paths USING (path) WHERE kind IN {MEMORY}
    ORDER BY ALL"""


def sum_of_ranks(connection: duckdb.DuckDBPyConnection, paths: _core.Trace, about: About, *, settled: bool) -> str:
    """Return the sum of the ranks in the tables of a connection. ``paths``: a trace of their call paths without
    ranks."""
    connection.register("arrow_paths", ArrowTable(paths, "contexts"))
    connection.execute("CREATE OR REPLACE TEMP TABLE of_paths AS SELECT id, path FROM arrow_paths")
    connection.unregister("arrow_paths")
    connection.execute(f"CREATE OR REPLACE TEMP TABLE more AS {_more(settled)}")  # one query needs more memory
    connection.execute(
        f"""CREATE OR REPLACE TEMP TABLE sums AS SELECT id AS context, * EXCLUDE (id)
            FROM ({reduced("settled" if settled else "figures")}) JOIN more USING (path) JOIN of_paths USING (path)"""
    )
    document = _Document(paths)
    rank = _rank(connection, about, settled)
    threads = "settled_threads" if settled else "threads"
    rank["threads"] = document.table(connection.sql(_THREADS.format(threads=threads)), ("role",))
    measures = document.table(connection.sql(_MEASURES), ("detail",))
    measures["kind"] = [_NAMES["measures"]["kind"].index(kind) for kind in measures["kind"]]
    if measures["kind"]:
        rank["measures"] = measures
    tables = {"figures": _FIGURES, "spreads": _SPREADS}
    if connection.sql("SELECT count(*) FROM gpu").fetchall() != [(0,)]:
        tables["gpu"] = _GPU
    columns = [f'"{name}": {_columns(connection, query)}' for name, query in tables.items()]
    return document.text(json.dumps(rank, sort_keys=True)[:-1] + ", " + ", ".join(columns) + "}")


def _rank(connection: duckdb.DuckDBPyConnection, about: About, settled: bool) -> dict[str, Any]:
    """Return the members of the sum that are not tables of call paths; its facts are those of the first rank, except
    those about GPUs."""
    found = connection.sql(_RANKS.format(ranks="settled_ranks" if settled else "ranks"))
    made = {name: _exact(value) for name, value in zip(found.columns, found.fetchall()[0], strict=True)}
    facts = connection.sql("SELECT key, value FROM facts WHERE rank = (SELECT min(rank) FROM ranks)").fetchall()
    counters = connection.sql(f"SELECT counter, {bounded('count')} FROM counters GROUP BY counter").fetchall()
    started = made.pop("started")
    return {
        **{name: value for name, value in made.items() if name not in ("ranks", "whole")},
        "rank": _SUM,
        "pid": 0,
        "id": "0" * 32,
        "boot_id": "0" * 32,
        "start": {"ticks": 0, "monotonic": 0, "boottime": 0, "realtime": started},
        "meta": {key: json.loads(value) for key, value in facts if key != REDUCED}
        | _gpu_facts(connection)
        | {REDUCED: about},
        "counters": {name: _exact(count) for name, count in counters},
        "notes": [],
        **{table: {column: [] for column in _NAMES[table]} for table in _EMPTY},
        "reduced": {"ranks": made["ranks"], "whole": made["whole"], "settled": settled},
    }


def _gpu_facts(connection: duckdb.DuckDBPyConnection) -> dict[str, Any]:
    """Return the sums of the facts about kernels, with the number of ranks that have them, and the first reasons why
    some are missing."""
    made: dict[str, Any] = {}
    keys = "('gpu_steps', 'gpu_kernels', 'gpu_missing')"
    for key, text in connection.sql(f"SELECT key, value FROM facts WHERE key IN {keys} ORDER BY rank").fetchall():
        value = json.loads(text)
        if key == "gpu_steps":
            made[key] = made.get(key, 0) + int(value)
        elif key == "gpu_kernels" and isinstance(value, dict):
            _add_kernels(made.setdefault(key, {}), value)
        else:
            made.setdefault(key, value)
    return made


def _add_kernels(sums: dict[str, Any], rank: dict[str, Any]) -> None:
    for name, value in rank.items():
        if name in ("kernels", "ns", "unknown", "busy_steps"):
            sums[name] = sums.get(name, 0) + value
        elif name != "devices":
            sums.setdefault(name, value)
    sums["ranks"] = sums.get("ranks", 0) + ("kernels" in rank)
    devices = {one["device"]: one for one in sums.setdefault("devices", [])}
    for device in rank.get("devices", []):
        known = devices.get(device["device"])
        if known is None:
            sums["devices"].append(dict(device))
        else:
            known |= {name: known[name] + time for name, time in device.items() if name != "device"}


def _exact(value: Any) -> Any:
    return str(value) if isinstance(value, int) and value > EXACT else value


def _columns(connection: duckdb.DuckDBPyConnection, query: str) -> str:
    """Return the columns of a query with one row per call path as JSON. DuckDB writes the numbers, of which there may
    be millions."""
    names = connection.sql(query).columns
    texts = ", ".join(
        f"""string_agg(CASE WHEN "{name}" > {EXACT} AND typeof("{name}") <> 'DOUBLE'
                       THEN '"' || "{name}" || '"' ELSE "{name}"::VARCHAR END, ',' ORDER BY context)"""
        for name in names
    )
    (row,) = connection.sql(f"SELECT {texts} FROM ({query})").fetchall()
    return "{" + ", ".join(f'"{name}": [{text or ""}]' for name, text in zip(names, row, strict=True)) + "}"


class _Document:
    """A dump of call paths, to which texts and one rank are added."""

    def __init__(self, paths: _core.Trace) -> None:
        text = "".join(dump_text.parts(paths))
        begin = text.index('"strings"')
        texts, end = json.JSONDecoder().raw_decode(text, text.index("[", begin))
        self._before, self._after = text[:begin], text[end:]
        self._texts: dict[str, int] = {text: index for index, text in enumerate(texts)}

    def table(self, rows: duckdb.DuckDBPyRelation, texts: Sequence[str]) -> dict[str, list[Any]]:
        """Return the columns of rows, with numbers of texts in some of them."""
        columns = list(zip(*rows.fetchall(), strict=True)) or [()] * len(rows.columns)
        return {
            name: [self._number(value) if name in texts else _exact(value) for value in column]
            for name, column in zip(rows.columns, columns, strict=True)
        }

    def _number(self, text: str) -> int:
        return self._texts.setdefault(text, len(self._texts))

    def text(self, rank: str) -> str:
        """Return the document with a rank."""
        head = self._after[: self._after.rindex("[") + 1]
        return f'{self._before}"strings":{json.dumps(list(self._texts))}{head}{rank}]}}\n'
