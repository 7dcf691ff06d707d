"""The tables of fields in the C core and the schema of dumps have the same columns, types and units."""

import pytest

from fastdispatch.read.dump_tables import TABLES
from tests import schemas

SCHEMA = schemas.schema("dump")

#: Accepted definitions of the schema, by type and unit of a column.
DEFINITIONS = {
    ("index", None): {"row", "index"},
    ("text", None): {"text"},
    ("I", None): {"u32"},
    ("Q", None): {"u64"},
    ("Q", "ns"): {"ns"},
    ("Q", "bytes"): {"bytes"},
    ("maybe", "bytes"): {"bytes_or_null"},
    ("double", "ns^2"): {"number"},
    ("bool", None): {"boolean"},
    ("B", None): {"integer"},
}


#: Of all ranks, or of a rank.
DUMPED = [table for table, (when, _) in TABLES.items() if when != "other" or table in SCHEMA["properties"]]


@pytest.mark.parametrize("table", DUMPED)
def test_columns_of_the_schema(table: str) -> None:
    columns = TABLES[table][1]
    shared = SCHEMA["properties"]
    properties = shared if table in shared else shared["ranks"]["items"]["properties"]
    schema = properties[table]["properties"]
    assert [name for name, *_ in columns] == list(schema)
    for name, kind, _, _, unit in columns:
        items = schema[name]["items"]
        assert items.get("$ref", items.get("type")).rpartition("/")[2] in DEFINITIONS[kind, unit], (name, unit)
        if kind == "double":
            assert items["description"] == unit


def test_units_of_definitions() -> None:
    assert {name: SCHEMA["$defs"][name]["description"] for name in ("ns", "bytes")} == {
        "ns": "nanoseconds",
        "bytes": "bytes",
    }
