"""docs/formats/dump.md: outputs follow the schema, inputs give the same trace, malformed dumps are rejected."""

import json
import re
import struct
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, Phase, given, settings

import fastdispatch
from fastdispatch.read import dump_tables, dump_text
from fastdispatch.read.dump_tables import TABLES
from tests import golden, programs, schemas
from tests.unit.formats.dumps import documents
from tests.unit.formats.test_merge import written

ROOT = Path(__file__).parents[3]
DOCUMENT = (ROOT / "docs" / "formats" / "dump.md").read_text()
SCHEMA = jsonschema.Draft202012Validator(schemas.schema("dump"))

Document = dict[str, Any]


def exact(document: Document) -> None:
    """Columns of a table have equal lengths and refer to existing rows."""
    SCHEMA.validate(document)
    tables = [document[name] for name in ("nodes", "modules", "contexts")]
    for rank in document["ranks"]:
        tables += [rank[name] for name in ("threads", "open", "latest_steps", "step_tops", "figures")]
    for table in tables:
        assert len({len(column) for column in table.values()}) == 1
    texts = len(document["strings"])
    assert all(place < texts for name in ("file", "class", "name") for place in document["nodes"][name])
    assert all(parent < row for row, parent in enumerate(document["contexts"]["parent"]))
    assert len(set(document["strings"])) == texts


def dumped(trace: fastdispatch.Trace, path: Path) -> Document:
    """Dump, check, load, and dump again: the same bytes."""
    trace.dump(path)
    document = json.loads(path.read_text())
    exact(document)
    again = fastdispatch.load(path)
    for name in ("nodes", "modules", "contexts", "edges", "ranks"):
        assert getattr(again, name) == getattr(trace, name), name
    again.dump(path.with_suffix(".again"))
    assert path.with_suffix(".again").read_bytes() == path.read_bytes()
    return document


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA.schema)


@pytest.mark.parametrize("program", [*programs.PLAIN, programs.threads], ids=lambda program: program.__name__)
def test_a_recording_of_calls(program: Callable[[], None], tmp_path: Path) -> None:
    with fastdispatch.CallGraph(tmp_path, ops="off") as graph:
        program()
        graph.step()
        program()
    document = dumped(fastdispatch.load(tmp_path), tmp_path / "dump.json")
    assert document["ranks"][0]["latest_steps"]["number"] == [0]


def test_a_recording_with_a_budget(tmp_path: Path) -> None:
    with fastdispatch.CallGraph(tmp_path, ops="off", budget=0.001) as graph:
        for _ in range(60):
            programs.leaf(1)
            graph.step()
        (tmp_path / "live").mkdir()
        (tmp_path / "live" / "rank00000.fd").write_bytes((tmp_path / "rank00000.fd").read_bytes())
    for name in ("rank00000.fd", "live"):
        trace = fastdispatch.load(tmp_path / name)
        dumped(trace, tmp_path / "dump.json")
        assert fastdispatch.load(tmp_path / "dump.json").ranks[0]["run_steps"] == 60 > trace.ranks[0]["steps"]
        told = [str(fastdispatch.load(path).report()) for path in (tmp_path / name, tmp_path / "dump.json")]
        assert told[0].replace(f"{tmp_path / name}", f"{tmp_path / 'dump.json'}") == told[1]


def test_a_recording_of_training(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    from tests.training import make_step

    _, step = make_step()
    with fastdispatch.CallGraph(tmp_path) as graph:
        for _ in range(3):
            step()
        graph.dump(tmp_path / "live.json")
    exact(json.loads((tmp_path / "live.json").read_text()))
    document = dumped(fastdispatch.load(tmp_path), tmp_path / "dump.json")
    assert max(document["contexts"]["origin"]) > 0
    assert max(document["contexts"]["module"]) > 0
    assert isinstance(document["ranks"][0]["start"]["realtime"], str)


@settings(
    max_examples=25,
    deadline=None,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=[HealthCheck.too_slow],
)
@given(documents((0, 3)))
def test_any_dump(document: Document) -> None:
    exact(document)
    with written(document) as (path,):
        loaded = dumped(fastdispatch.load(path), path.with_name("dump.json"))
    for before, after in zip(document["ranks"], loaded["ranks"], strict=True):
        for name in ("rank", "id", "recorded", "start", "counters", "notes", "latest_steps", "meta"):
            assert after[name] == before[name], name
        for name in ("calls", "self", "self_squares"):
            assert sorted(map(float, after["figures"][name])) == sorted(map(float, before["figures"][name]))


def test_whole_numbers_are_exact_on_both_sides_of_two_to_the_53(tmp_path: Path) -> None:
    path = tmp_path / "example.json"
    document = example()
    values = [2**53 - 1, 2**53, str(2**53 + 1)]
    document["ranks"][0]["figures"]["self"] = values
    path.write_text(json.dumps(document))
    trace = fastdispatch.load(path)
    assert trace.core.columns("figures", 0)["self"] == [2**53 - 1, 2**53, 2**53 + 1]
    assert dumped(trace, tmp_path / "dump.json")["ranks"][0]["figures"]["self"] == values


def test_replaced_ids_are_not_cut(tmp_path: Path) -> None:
    path = tmp_path / "example.json"
    path.write_text(json.dumps(example()))
    core = fastdispatch.load(path).core
    core.replace([("rank", 0, 1, {"boot_id": ["f" * 32]})])
    assert core.columns("rank", 0)["boot_id"] == ["f" * 32]
    with pytest.raises(fastdispatch._core.ArgumentError, match="boot_id: longer than 32 bytes"):
        core.replace([("rank", 0, 1, {"boot_id": ["f" * 33]})])
    assert core.columns("rank", 0)["boot_id"] == ["f" * 32]


def test_a_damaged_spread_is_skipped(tmp_path: Path) -> None:
    """Reject non-finite figures, which JSON cannot represent."""
    with fastdispatch.CallGraph(tmp_path, ops="off") as graph:
        programs.classes()
        graph.step()
    path = tmp_path / "rank00000.fd"
    content = bytearray(path.read_bytes())
    at = 4096
    while at < len(content):
        size, kind = struct.unpack_from("<QI", content, at + 16)
        if kind == 5:
            for spread in range(at + 64, at + size, 64):
                struct.pack_into("<dd", content, spread + 24, float("nan"), float("inf"))
        at += size
    path.write_bytes(content)
    document = dumped(fastdispatch.load(path), tmp_path / "dump.json")
    assert set(document["ranks"][0]["figures"]["self_squares"]) == {0}


# -- the example and rejected input ------------------------------------------------------------------------------------


def example() -> Document:
    block = re.search(r"```json\n(.*?)```", DOCUMENT, re.S)
    assert block is not None
    return json.loads(block[1])


def test_the_example_is_a_dump(tmp_path: Path) -> None:
    exact(example())
    (tmp_path / "merged.json").write_text(json.dumps(example()))
    trace = fastdispatch.load(tmp_path / "merged.json")
    assert trace.contexts["total"] == [2400, 2000, 1200]
    assert dumped(trace, tmp_path / "dump.json") == example()


def test_the_program_of_the_document(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "merged.json").write_text(json.dumps(example()))
    monkeypatch.chdir(tmp_path)
    block = re.search(r"```python\n(.*?)```", DOCUMENT, re.S)
    assert block is not None
    space: dict[str, Any] = {}
    exec(block[1], space)
    assert space["calls"] == {"main": 1, "step": 2, "aten::add": 6}


@pytest.mark.parametrize(("message", "place", "value"), golden.document("dump_faults"))
def test_faults_are_named(message: str, place: list[Any], value: object, tmp_path: Path) -> None:
    path = tmp_path / "wrong.json"
    path.write_bytes(changed(example(), place, value))
    with pytest.raises(fastdispatch.Error, match=re.escape(message)) as caught:
        fastdispatch.load(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def changed(document: Document, place: list[Any], value: object) -> bytes:
    at: Any = document
    for step in place[:-1]:
        at = at[step]
    at[place[-1]] = value
    return json.dumps(document).encode()


def loaded(content: bytes, path: Path) -> fastdispatch.Trace:
    path.write_bytes(content)
    return fastdispatch.load(path)


def test_other_spellings_of_a_dump_are_the_same(tmp_path: Path) -> None:
    path, plain, other = tmp_path / "dump.json", example(), example()
    other["nodes"]["line"] = ["7", 0.0, 0]
    other["contexts"]["parent"] = [-1.0, 0.0, 1]
    other["nodes"]["new"] = other["new"] = other["ranks"][0]["counters"]["new"] = {"of": "a later version"}
    for name in ("cpu", "covered_from", "covered_to", "cpu_from", "cpu_to"):
        del other["ranks"][0]["threads"][name]
    plain["ranks"][0]["threads"]["cpu"] = [0]
    text = "\ufeff \n" + json.dumps(other).replace('"format"', '"version": 7, "format"', 1) + " \n"
    assert dumped(loaded(text.encode(), path), path) == dumped(loaded(json.dumps(plain).encode(), path), path)


def test_texts_that_utf_8_cannot_represent(tmp_path: Path) -> None:
    content = json.dumps(example()).encode().replace(b'"meta": {}', b'"meta": {"a": "\xff", "a": [1e2, "\\ud800"]}')
    trace = loaded(content.replace(b"model.py", b"m\\u0000\xf0\x9f.py"), tmp_path / "dump.json")
    assert trace.nodes["file"] == ["m\ufffd\ufffd\ufffd.py", "", ""]
    assert dumped(trace, tmp_path / "again.json")["ranks"][0]["meta"] == {"a": [100, "\ufffd"]}
    assert (tmp_path / "again.json").read_text().count('"a":') == 2


@pytest.mark.parametrize("parents", [[1, 2, 0], [0, 1, 2], [2, 2, -1], [1, 0, 1]])
def test_parents_in_any_order(parents: list[int], tmp_path: Path) -> None:
    """Parents that run in a circle, or are later than their children."""
    dumped(loaded(changed(example(), ["contexts", "parent"], parents), tmp_path / "dump.json"), tmp_path / "again.json")


def test_equal_nodes_become_one(tmp_path: Path) -> None:
    trace = loaded(changed(example(), ["contexts", "node"], [2, 2, 2]), tmp_path / "dump.json")
    assert [trace.nodes["name"], len(trace.contexts["node"])] == [["main"], 3]


INVALID = {
    b"{": "not valid JSON at byte 1",
    b"{} {}": "not valid JSON at byte 3",
    b"\xef\xbb\xbf{'": "not valid JSON at byte 1",
    b'{"\xff": ]': "not valid JSON at byte 6",
    b'{"a": ' * 10**5: "not valid JSON: nested too deeply",
    b"{}": "format: not a fastdispatch dump",
    b'{"format": 7}': "format: not a fastdispatch dump",
    b'{"format": "fastdispatch.trace"}': "version: a whole number is missing or out of range",
    b'{"format": "fastdispatch.trace", "version": ' + b"1" * 5000 + b"}": "version: a whole number is missing",
    b" ": "neither a recording (.fd) nor a dump (.json) of fastdispatch",
}


@pytest.mark.parametrize(("content", "message"), INVALID.items(), ids=range(len(INVALID)))
def test_files_that_are_not_dumps(content: bytes, message: str, tmp_path: Path) -> None:
    with pytest.raises(fastdispatch.Error, match=rf"^{tmp_path}/dump.json: {re.escape(message)}"):
        loaded(content, tmp_path / "dump.json")


def damaged() -> Iterator[bytes]:
    with tarfile.open(ROOT / "tests" / "c" / "corpus" / "fuzz_load.tar.xz") as kept:
        yield from (file.read() for file in map(kept.extractfile, kept) if file is not None)


def test_damaged_dumps(tmp_path: Path) -> None:
    """Each is read, and dumped as what it was read as, or rejected in one line."""
    path, outcomes = tmp_path / "dump.json", [0, 0]
    for content in damaged():
        try:
            trace = loaded(content, path)
        except fastdispatch.Error as error:
            assert str(error).startswith(f"{path}: ")
            assert "\n" not in str(error)
        else:
            trace.dump(path)
            first = path.read_bytes()
            fastdispatch.load(path).dump(path)
            assert path.read_bytes() == first
            trace.core.totals()
            outcomes[0] += 1
        outcomes[1] += 1
    assert 50 < outcomes[0] < outcomes[1] - 200


def test_long_columns(tmp_path: Path) -> None:
    """More values than are kept as a list."""
    document, numbers = example(), list(range(2000))
    steps = document["ranks"][0]["latest_steps"]
    steps |= {name: numbers for name in steps}
    steps["live"] = [None, *numbers[1:]]
    steps["begin"] = ["7", *numbers[1:]]
    steps["end"] = [7.0, *numbers[1:]]
    trace = loaded(json.dumps(document).encode(), tmp_path / "dump.json")
    found = dumped(trace, tmp_path / "again.json")["ranks"][0]["latest_steps"]
    assert found == steps | {"begin": [7, *numbers[1:]], "end": [7, *numbers[1:]]}
    for name, wrong in (("end", 0.5), ("end", -1), ("end", True), ("live", -1)):
        steps[name][3] = wrong
        with pytest.raises(fastdispatch.Error, match=f"latest_steps.{name}: a value"):
            loaded(json.dumps(document).encode(), tmp_path / "dump.json")
        steps[name][3] = 3


# -- the tables of fields have the columns, types and units of the schema ----------------------------------------------


OF_DUMPS = schemas.schema("dump")

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
DUMPED = [table for table in TABLES if table in dump_tables.DUMPED or table in OF_DUMPS["properties"]]


@pytest.mark.parametrize("table", DUMPED)
def test_columns_of_the_schema(table: str) -> None:
    columns = TABLES[table]
    shared = OF_DUMPS["properties"]
    properties = shared if table in shared else shared["ranks"]["items"]["properties"]
    schema = properties[table]["properties"]
    assert [name for name, *_ in columns] == list(schema)
    for name, kind, _, _, unit in columns:
        items = schema[name]["items"]
        assert items.get("$ref", items.get("type")).rpartition("/")[2] in DEFINITIONS[kind, unit], (name, unit)
        if kind == "double":
            assert items["description"] == unit


def test_units_of_definitions() -> None:
    assert {name: OF_DUMPS["$defs"][name]["description"] for name in ("ns", "bytes")} == {
        "ns": "nanoseconds",
        "bytes": "bytes",
    }


def test_an_empty_trace() -> None:
    core = fastdispatch._core.Trace()
    core.finish()
    document = json.loads("".join(dump_text.parts(core)))
    assert (document["strings"], document["nodes"]["name"], document["ranks"]) == ([""], [], [])


def test_a_failed_dump_leaves_the_old_file(tmp_path: Path) -> None:
    def parts() -> Iterator[bytes]:
        yield b"half"
        raise KeyError("half")

    path = tmp_path / "dump.json"
    path.write_bytes(b"whole")
    with pytest.raises(KeyError, match="half"):
        fastdispatch._core.save(path, parts())
    with pytest.raises(TypeError):
        fastdispatch._core.save(path, [b"half", "text"])  # type: ignore[list-item]
    assert path.read_bytes() == b"whole"
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(fastdispatch.Error, match=re.escape(f"{tmp_path}/absent/dump.json: cannot")):
        loaded(json.dumps(example()).encode(), path).dump(tmp_path / "absent" / "dump.json")
