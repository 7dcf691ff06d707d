"""Execution traces on the command line: read, converted and counted, with their faults reported."""

import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from fastdispatch import _core, cli
from tests import commands, schemas


def node(number: int, parent: int, name: str, schema: str = "", **more: Any) -> dict[str, Any]:
    lists: dict[str, list[Any]] = {"values": [], "shapes": [], "types": [], "strides": []}
    values = {"rf_id": number + 100, "fw_parent": 0, "seq_id": -1, "scope": 0, "tid": 1, "fw_tid": 0}
    attrs = [{"name": name, "type": "uint64", "value": value} for name, value in values.items()]
    attrs.append({"name": "op_schema", "type": "string", "value": schema})
    return {
        "id": number,
        "name": name,
        "ctrl_deps": parent,
        "inputs": lists,
        "outputs": lists,
        "attrs": attrs,
    } | more


def document(*nodes: dict[str, Any], schema: str = "1.1.1-chakra.0.0.4") -> dict[str, Any]:
    roots = [
        node(1, 1, "[pytorch|profiler|execution_trace|process]"),
        node(2, 1, "[pytorch|profiler|execution_trace|thread]"),
    ]
    head = {"schema": schema, "pid": 7, "time": "2026-11-22 05:02:45", "start_ts": 5}
    return head | {"nodes": [*nodes, *roots], "finish_ts": 9}


def write(path: Path, content: dict[str, Any] | str) -> Path:
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    nodes = (node(4, 3, "aten::addmm", "aten::addmm()"), node(3, 2, 'say "hi"\n'), node(5, 2, "gloo:all_reduce"))
    return write(tmp_path / "et_3.json", document(*nodes))


def valid(name: str, text: str) -> dict[str, Any]:
    """The JSON, as its schema has it."""
    made: dict[str, Any] = json.loads(text)
    schemas.valid(made, f"et-{name}")
    return made


def info(*paths: object) -> list[dict[str, Any]]:
    files: list[dict[str, Any]] = valid("info", commands.out("et", "info", "--json", *paths))["files"]
    return files


@pytest.mark.parametrize("end", [".et", ".et.gz", ".json", ".json.gz"])
def test_there_and_back(trace: Path, end: str, tmp_path: Path) -> None:
    there = tmp_path / f"there{end}"
    assert cli.main(["et", "convert", str(trace), "-o", str(there)]) == 0
    before, after = info(trace, there)
    same = ("nodes", "dependencies", "edges", "types", "communication", "operators", "schema")
    assert {key: before[key] for key in same} == {key: after[key] for key in same}
    assert before["nodes"] == 5
    assert before["edges"]["order"] == 3
    assert before["communication"] == {"ALL_REDUCE": {"count": 1, "bytes": 0, "ns": 0}}
    assert (there.read_bytes()[:2] == b"\x1f\x8b") == end.endswith(".gz")


def test_everything_of_a_linked_trace_is_written(tmp_path: Path) -> None:
    attrs = [{"name": "fd_thread", "type": "uint64", "value": 99}, {"name": 'a "b"', "type": "bool", "value": True}]
    attrs += [{"name": "kernel_file", "type": "string", "value": "k.py"}, {"name": "n", "type": "int64", "value": -3}]
    times = {"ts": 1234.567, "inclusive_dur": 2, "exclusive_dur": 0.05}
    linked = node(3, 2, 'say "hi"\n\x7f', "aten::x(Tensor[] y)", **times)
    kernel = {"ph": "X", "cat": "kernel", "stream": 7, "fd_device": 1, "pg_name": "tp"}
    waits = {"sync_dep": [3, 4], "fd_event_dep": [4], "fd_given_dep": [3]}
    linked["attrs"] += attrs
    nodes = (linked, node(4, 3, "k", **times, **kernel), node(5, 2, "aten::z", **waits))
    there, again = tmp_path / "there.json", tmp_path / "again.json"
    commands.out("et", "convert", write(tmp_path / "x.json", document(*nodes)), "-o", there)
    made = {each["id"]: each for each in json.loads(there.read_text())["nodes"]}
    assert {name: made[3][name] for name in ("name", *times)} == {"name": linked["name"], **times}
    assert {name: made[4][name] for name in kernel} == kernel
    assert {name: made[5][name] for name in waits} == waits
    values = {each["name"]: each["value"] for each in made[3]["attrs"]}
    assert values == {
        **{each["name"]: each["value"] for each in linked["attrs"] if each["name"] != linked["name"]},
        **{"rf_id": 103, "fw_parent": 0, "seq_id": -1, "scope": 0, "tid": 1, "fw_tid": 0},
        **{"op_schema": "aten::x(Tensor[] y)", "kernel_backend": ""},
    }
    commands.out("et", "convert", there, "-o", again)
    assert again.read_bytes() == there.read_bytes()


def test_lists_in_python_s_spelling_are_texts(tmp_path: Path) -> None:
    """As in .et files of other programs."""
    lists = {"values": ["abcdefg"], "shapes": [[1]], "types": [], "strides": []}
    there = tmp_path / "x.et"
    commands.out("et", "convert", write(tmp_path / "x.json", document(node(3, 2, "a", inputs=lists))), "-o", there)
    there.write_bytes(there.read_bytes().replace(b'["abcdefg"]', b"[True, 'x']"))
    commands.out("et", "convert", there, "-o", tmp_path / "y.json")
    made = json.loads((tmp_path / "y.json").read_text())["nodes"]
    assert next(each["inputs"] for each in made if each["id"] == 3) == {
        **{"values": ["[True, 'x']"], "shapes": [[1]]},
        **{"types": [], "strides": []},
    }


def test_printed_tables(trace: Path) -> None:
    output = commands.out("et", "info", trace)
    assert "ALL_REDUCE" in output
    assert "order" in output


@pytest.mark.parametrize(
    ("name", "operators"),
    [
        ("aten::mm", 1),
        ("c10d::allreduce_", 1),
        ("gloo:all_reduce", 0),
        ("MmBackward0", 0),
        ("::f", 0),
        ("torch::autograd::AccumulateGrad", 0),
        ("autograd::engine::evaluate_function: MmBackward0", 0),
        ("std::function<void>", 0),
    ],
)
def test_operators_by_name(name: str, operators: int, tmp_path: Path) -> None:
    """Without schemas."""
    assert info(write(tmp_path / "x.json", document(node(3, 2, name))))[0]["operators"] == operators


def test_times_and_streams(tmp_path: Path) -> None:
    kernel = {"cat": "kernel", "ts": 8}
    nodes = (
        node(3, 2, "ProfilerStep#1", ts=3, inclusive_dur=9),
        node(4, 3, "k", **kernel, stream=7, inclusive_dur=9),
        node(5, 3, "k", **kernel, stream=8, inclusive_dur=2),
        node(6, 3, "k", **kernel, stream=8, fd_device=1),
    )
    (row,) = info(write(tmp_path / "x.json", document(*nodes)))
    wanted = {"steps": 1, "timed": 4, "guessed": 2, "streams": 3, "threads": 1, "begin_ns": 3000, "end_ns": 17000}
    assert {key: row[key] for key in wanted} == wanted
    assert (row["cpu"], row["gpu"], row["types"]) == (3, 3, {"METADATA": 1, "COMP": 5})


def test_tables(trace: Path) -> None:
    made = _core.ExecutionTrace(trace)
    with pytest.raises(_core.ArgumentError, match="no such table: threads"):
        made.columns("threads")
    assert [made.text(number) for number in (made.columns("nodes")["name"][2], 0, 10**6, 2**32 + 1)] == [
        *('say "hi"\n', "", "", "")
    ]
    with pytest.raises(_core.Error, match="it has no traceEvents"):
        made.read_kineto(trace)
    assert len(made.columns("nodes")["id"]) == 0


def test_many_ranks(trace: Path, tmp_path: Path) -> None:
    for rank in (2, 10):
        write(tmp_path / f"et_{rank}.json", json.loads(trace.read_text()))
    write(tmp_path / "kineto_3.json", {"schemaVersion": 1, "traceEvents": []})
    assert cli.main(["et", "convert", str(tmp_path), "-o", str(tmp_path / "out")]) == 0
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["trace.10.et", "trace.2.et", "trace.3.et"]
    assert cli.main(["et", "convert", str(tmp_path), "-o", str(tmp_path / "r%03d.json.gz")]) == 0
    assert json.loads(gzip.decompress((tmp_path / "r010.json.gz").read_bytes()))["pid"] == 7
    assert [row["rank"] for row in info(tmp_path / "out")] == [2, 3, 10]
    assert "write %d for the rank" in commands.error("et", "convert", tmp_path / "out", "-o", tmp_path / "one.et")


def test_edges_are_chosen(trace: Path, tmp_path: Path) -> None:
    assert cli.main(["et", "convert", str(trace), "-o", str(tmp_path / "a.et"), "--edges=-order"]) == 0
    assert info(tmp_path / "a.et")[0]["dependencies"] == 0
    with pytest.raises(SystemExit) as stopped:
        cli.main(["et", "convert", str(trace), "-o", "x.et", "--edges", "order,nonsense"])
    assert stopped.value.code == 2


@pytest.mark.parametrize(
    ("content", "shown"),
    [
        ("", "empty"),
        ("[]", "neither PyTorch's JSON nor Chakra's .et"),
        ('{"pid": 1}', 'it has no "nodes"'),
        ('{"traceEvents": []}', "a Kineto trace, not an execution trace"),
    ],
)
def test_files_other_than_traces(content: str, shown: str, tmp_path: Path) -> None:
    path = write(tmp_path / "x.json", content)
    for command in (["info", str(path)], ["convert", str(path), "-o", str(tmp_path / "y.et")]):
        errors = commands.complaint("et", *command)
        assert shown in errors and str(path) in errors
    assert not (tmp_path / "y.et").exists()


def test_damage_is_reported_and_the_rest_kept(trace: Path, tmp_path: Path) -> None:
    text = json.dumps(document(node(3, 2, "a"), node(4, 77, "b"), node(4, 2, "c"), node(5, 2, "gloo:strange")))
    text = text.replace('"name": "a"', '"name": "quotes "within""')
    path = write(tmp_path / "x.json", text[:-40])
    errors = commands.error("et", "convert", path, "-o", tmp_path / "y.et", status=0)
    for shown in (
        "cut short at byte",
        "1 name or value with invalid JSON repaired",
        "1 node with a duplicate id",
        "with a missing parent",
    ):
        assert shown in errors
    assert info(tmp_path / "y.et")[0]["nodes"] == 5


def test_an_unknown_dtype(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A trace of a later PyTorch: every node is read, and one line reports the dtype."""
    strange = node(4, 2, "aten::b", "aten::b()")
    strange["inputs"] = {"values": [[9, 8, 0, 6, 2, "cpu"]], "shapes": [[6]], "types": ["Tensor(c10::Posit16)"]}
    path = write(tmp_path / "x.json", document(node(3, 2, "aten::a", "aten::a()"), strange))
    for output in ("y.et", "y.json"):
        assert cli.main(["et", "convert", str(path), "-o", str(tmp_path / output)]) == 0
        assert "1 node with an unknown dtype, the first c10::Posit16" in capsys.readouterr().err
    (row,) = info(tmp_path / "y.et")
    assert (row["nodes"], row["faults"]["dtypes_unknown"], row["faults"]["dtype"]) == (4, 1, "c10::Posit16")
    assert "Tensor(c10::Posit16)" in (tmp_path / "y.json").read_text()
    assert cli.main(["et", "check", str(path)]) == 0


def test_unknown_dtypes_are_counted_once_per_node(tmp_path: Path) -> None:
    types = (
        ["Tensor(float)", "Int"],
        ["Tensor(nullptr (uninitialized))"],
        ["GenericList[Tensor(float),Tensor(c10::P2)]"],
    )
    nodes = [node(number, 2, "aten::a", "aten::a()") for number in range(3, 8)]
    for each, listed in zip(nodes, (*types, ["Tensor(c10::P2)", "Tensor(P1)"], []), strict=True):
        each["inputs"] = {"values": [], "shapes": [], "types": listed}
    nodes[-1]["outputs"] = nodes[-2]["inputs"]
    (row,) = info(write(tmp_path / "x.json", document(*nodes)))
    assert (row["faults"]["dtypes_unknown"], row["faults"]["dtype"]) == (3, "c10::P2")


def operator(number: int, name: str, ts: float, dur: float) -> dict[str, Any]:
    args = {"Record function id": number + 100, "External id": number}
    return {"ph": "X", "cat": "cpu_op", "name": name, "pid": 7, "tid": 50, "ts": ts, "dur": dur, "args": args}


def test_linked(trace: Path, tmp_path: Path) -> None:
    events = [operator(3, 'say "hi"\n', 10, 5), operator(4, "aten::other", 11, 2), operator(9, "only here", 30, 1)]
    kineto = write(tmp_path / "kineto_3.json", {"distributedInfo": {"rank": 1}, "traceEvents": events})
    output = tmp_path / "linked.json"
    errors = commands.error("et", "link", trace, kineto, "-o", output, status=0)
    for printed in (
        "2 nodes of the execution trace are not in the Kineto trace",
        "1 operators of the Kineto trace are not in the execution trace",
        "104 is aten::addmm in one and aten::other in the other",
    ):
        assert printed in errors
    row = info(output)[0]
    assert (row["timed"] > 0, row["nodes"], row["faults"]["lost"]) == (True, 5, 0)
    nodes = {each["name"]: each for each in json.loads(output.read_text())["nodes"]}
    assert (nodes['say "hi"\n']["ts"], nodes['say "hi"\n']["inclusive_dur"]) == (10, 5)
    assert cli.main(["et", "link", str(tmp_path), str(tmp_path / "absent"), "-o", str(output)]) == 2
    assert "no traceEvents" in commands.error("et", "link", trace, trace, "-o", output)


def test_a_kineto_trace_alone(tmp_path: Path) -> None:
    kineto = write(tmp_path / "kineto_0.json", {"traceEvents": [operator(3, "aten::mm", 10, 5)]})
    output = str(tmp_path / "a.et")
    for command, printed in (
        (["link", str(kineto), "-o", output], "one trace alone: give the execution trace of PyTorch"),
        (["convert", str(kineto), "-o", output], "a Kineto trace, not an execution trace: join it"),
        (["info", str(kineto)], "a Kineto trace, not an execution trace: join it"),
        (["check", str(kineto)], "a Kineto trace, not an execution trace: join it"),
        (["check", str(tmp_path)], "no execution trace in this folder"),
    ):
        assert printed in commands.complaint("et", *command)
    assert [path.name for path in tmp_path.iterdir()] == ["kineto_0.json"]


@pytest.fixture
def ranks(tmp_path: Path) -> list[Path]:
    """Two ranks; the second comes 20 us later to the all-reduce, and both leave it at 150."""
    paths = []
    for rank in (0, 1):
        come = 100 + 20 * rank
        nodes = (
            node(3, 2, "aten::mm", "aten::mm()", ts=50, inclusive_dur=come - 55, exclusive_dur=come - 55),
            node(4, 2, "gloo:all_reduce", ts=come, inclusive_dur=150 - come, exclusive_dur=150 - come),
        )
        paths.append(write(tmp_path / f"rank{rank}.json", document(*nodes)))
    return paths


def test_ranks_that_match(ranks: list[Path]) -> None:
    assert "1 collective on all ranks of their groups" in commands.out("et", "check", *ranks)


def test_ranks_that_do_not(ranks: list[Path]) -> None:
    ranks[1].write_text(ranks[1].read_text().replace("all_reduce", "broadcast"))
    printed = "collective 1: rank 0 is in gloo:all_reduce (node 4), rank 1 in gloo:broadcast (node 4)"
    assert printed in commands.out("et", "check", *ranks, status=1)
    made = valid("check", commands.out("et", "check", "--json", *ranks, status=1))
    assert (made["good"], made["mismatches"][0]["what"], made["files"][0]["whole"]) == (False, "kind", True)
    ranks[1].write_text(ranks[1].read_text()[:-30])
    assert "broken" in commands.out("et", "check", ranks[1], status=1)


def test_a_graph_for_networkx(trace: Path, tmp_path: Path) -> None:
    networkx = pytest.importorskip("networkx")
    for end in ("graphml", "graphml.gz"):
        output = tmp_path / f"graph.{end}"
        assert cli.main(["et", "convert", str(trace), "-o", str(output)]) == 0
        graph = networkx.read_graphml(output)
        assert (len(graph), graph.number_of_edges()) == (5, 3)
        names = {data["name"]: place for place, data in graph.nodes(data=True)}
        assert graph.nodes[names["aten::addmm"]]["parent"] == names['say "hi" ']
        assert graph.nodes[names["gloo:all_reduce"]]["collective"] == "ALL_REDUCE"
        assert {data["kinds"] for _, _, data in graph.edges(data=True)} == {"order"}


@pytest.mark.skipif(shutil.which("dot") is None, reason="no Graphviz")
def test_pictures(trace: Path, tmp_path: Path) -> None:
    many = [node(number, 2, f"op{number % 300}") for number in range(3, 3003)]
    large = write(tmp_path / "large.json", document(*many))
    for path, boxes in ((trace, 5), (large, 120)):
        output = tmp_path / "picture.svg"
        assert cli.main(["et", "convert", str(path), "-o", str(output)]) == 0
        assert output.read_text().count('class="node"') == boxes
    assert "183 other names" in output.read_text()
    assert cli.main(["et", "convert", str(trace), "-o", str(tmp_path / "picture.pdf")]) == 0
    assert (tmp_path / "picture.pdf").read_bytes().startswith(b"%PDF")
    assert cli.main(["et", "convert", str(trace), str(large), "-o", str(tmp_path / "rank%d.svg")]) == 0
    assert len(list(tmp_path.glob("rank*.svg"))) == 2


def dot(path: Path) -> str:
    """Return the source of the picture; ``.gz`` has the same."""
    for name in ("picture.dot", "picture.dot.gz"):
        assert cli.main(["et", "convert", str(path), "-o", str(path.with_name(name))]) == 0
    text = path.with_name("picture.dot").read_text()
    assert gzip.decompress(path.with_name("picture.dot.gz").read_bytes()).decode() == text
    return text


def test_boxes_and_lines_of_a_picture(trace: Path) -> None:
    text = dot(trace)
    assert text.count("style=dotted") == 4
    assert (
        '[fillcolor="#E6EFFA", label="aten::addmm"]' in text
        and '[fillcolor="#FDE3C8", label="gloo:all_reduce"]' in text
    )
    assert r'label="say \"hi\"\n"' in text
    assert text.count('[color="#B4BCC6", penwidth=0.80, constraint=false]') == 3
    assert 'label=<5 nodes: each node. Dotted: calls <FONT COLOR="#B4BCC6"><B>→ order</B></FONT>>\n}\n' in text


def test_large_pictures_are_collapsed(tmp_path: Path) -> None:
    names = [f'say "{number:03}' for number in range(2, 402)]
    text = dot(write(tmp_path / "large.json", document(*(node(i + 3, 2, name) for i, name in enumerate(names)))))
    assert text.count("fillcolor=") == 120
    assert r'label="say \"002"' in text
    assert '[fillcolor="#F1F3F5", label="283 other names\\n\N{MULTIPLICATION SIGN} 283"]' in text
    assert "small ones together. Dotted: calls. Order is not drawn>" in text
    assert "→ order" not in text


def test_pictures_that_cannot_be(trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    for output, printed in (
        ("a.svg", "Graphviz is needed to draw"),
        ("a.png", "Graphviz is needed to draw"),
        ("absent/a.dot", "absent/"),
    ):
        assert printed in commands.complaint("et", "convert", trace, "-o", tmp_path / output)
        assert not (tmp_path / output).exists()
    assert cli.main(["et", "convert", str(trace), "-o", str(tmp_path / "a.dot")]) == 0
