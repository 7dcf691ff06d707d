"""The tables of fields in the C core and the schema of dumps have the same columns, types and units."""

import re
from pathlib import Path

import pytest

from fastdispatch.dataset.sum_dump import KINDS
from tests import schemas

ROOT = Path(__file__).parents[3]
SPREAD = r"""FD_COLUMN_IN(\2, fd_rank_spread, "\1_min", U64,), FD_COLUMN_IN(\2, fd_rank_spread, "\1_max", U64,),
FD_COLUMN(fd_rank_spread, "\1_min_rank", U32,), FD_COLUMN(fd_rank_spread, "\1_max_rank", U32,)"""
SOURCE = re.sub(r"SPREAD_OF\((\w+), ([^)]+)\)", SPREAD, (ROOT / "csrc" / "trace" / "trace_columns.c").read_text())
SOURCE = SOURCE.replace("FD_NEWER_COLUMN(", "FD_COLUMN_IN(").replace("FD_COLUMN_IN(NULL, ", "FD_COLUMN(")
SCHEMA = schemas.schema("dump")

COLUMN = re.compile(r'FD_COLUMN(?:_IN\(\s*"([^"]+)",|_OF_NAMES\(|\()\s*\w+,\s*"(\w+)",\s*(\w+),')
#: Tables that are not in dumps, and fields of ranks.
NO_DUMP = {"jobs", "gpu_events", "iterations", "facts", "notes", "rank", "sparse", "start", "reduced"}

#: Accepted definitions of the schema, by type and unit of a column.
DEFINITIONS = {
    ("INDEX", ""): {"row", "index"},
    ("CONTEXT", ""): {"row", "index"},
    ("TEXT", ""): {"text"},
    ("U32", ""): {"u32"},
    ("U64", ""): {"u64"},
    ("U64", "ns"): {"ns"},
    ("U64", "bytes"): {"bytes"},
    ("U64_OR_NONE", ""): {"u64_or_null"},
    ("U64_OR_NONE", "bytes"): {"bytes_or_null"},
    ("DOUBLE", "ns^2"): {"number"},
    ("BOOL", ""): {"boolean"},
    ("U8", ""): {"integer"},
}


def tables() -> dict[str, list[tuple[str, str, str]]]:
    """Return the columns (name, type, unit) of each table in a dump."""
    columns = {
        name: [(column, kind, unit) for unit, column, kind in COLUMN.findall(body)]
        for name, body in re.findall(r"static const fd_column (\w+)\[\] = \{(.*?)\n\};", SOURCE, re.DOTALL)
    }
    names = re.findall(r'FD_TABLE\("(\w+)", (\w+),', SOURCE)
    return {table: columns[name] for table, name in names if table not in NO_DUMP}


@pytest.mark.parametrize("table", tables())
def test_columns_of_the_schema(table: str) -> None:
    columns = tables()[table]
    shared = SCHEMA["properties"]
    properties = shared if table in shared else shared["ranks"]["items"]["properties"]
    schema = properties[table]["properties"]
    assert [name for name, _, _ in columns] == list(schema)
    for name, kind, unit in columns:
        items = schema[name]["items"]
        assert items.get("$ref", items.get("type")).rpartition("/")[2] in DEFINITIONS[kind, unit], (name, unit)
        if kind == "DOUBLE":
            assert items["description"] == unit


def test_kinds_of_measures() -> None:
    (names,) = re.findall(r"measure_names\[\] = \{(.*?)NULL\}", SOURCE, re.DOTALL)
    assert tuple(re.findall(r'"(\w+)"', names)) == KINDS


def test_units_of_definitions() -> None:
    assert {name: SCHEMA["$defs"][name]["description"] for name in ("ns", "bytes")} == {
        "ns": "nanoseconds",
        "bytes": "bytes",
    }
