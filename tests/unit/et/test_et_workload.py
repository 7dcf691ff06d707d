"""The JSON form of Chakra's feeder and the table of process groups, from every command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fastdispatch import cli
from fastdispatch._core import et_convert, et_info, et_link
from tests.chakra.pairs import node, write_pair

#: What the feeder reads of every node, and of nodes that communicate.
FIELDS = {"Id": int, "Name": str, "NodeType": int, "data_deps": list, "runtime": int, "is_cpu_op": bool}
COMM = {"comm_type", "comm_size", "tensor_size", "comm_priority", "comm_src", "comm_dst", "comm_tag"}


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    """A rank with a GPU, two process groups, a message and work of gloo."""
    et, kineto = write_pair(tmp_path, 8)
    document = json.loads(et.read_text())
    groups = [
        {"pg_name": "0", "pg_desc": "default", "ranks": [], "group_size": 3},
        {"pg_name": "1", "pg_desc": "pair", "ranks": [0, 2], "group_size": 2},
    ]
    label = node(5000, 2, "## process_group:init ##", 5000)
    label["inputs"] = {"values": [json.dumps(groups)], "shapes": [[]], "types": ["String"], "strides": [[]]}
    tensor = [9001, 9002, 0, 512, 4, "cpu"]
    call = node(5002, 2, "c10d::send", 5002, "c10d::send()", ([[tensor], "<Object>", 1, 7], []))
    work = node(5004, 2, "gloo:send", 5004, "", ([tensor], []))
    document["nodes"] += [label, call, work]
    et.write_text(json.dumps(document))
    return et, kineto


def graph(path: Path) -> list[dict[str, Any]]:
    document = json.loads(path.read_text())
    assert list(document) == ["workload_graph"]
    nodes: list[dict[str, Any]] = document["workload_graph"]
    return nodes


def drained(nodes: list[dict[str, Any]]) -> int:
    """How many nodes become ready, in order: each waits for data_deps alone."""
    done: set[int] = set()
    for each in nodes:
        assert set(each["data_deps"]) <= done, each
        done.add(each["Id"])
    return len(done)


def check(nodes: list[dict[str, Any]]) -> None:
    for each in nodes:
        assert {key: type(each[key]) for key in FIELDS} == FIELDS
        assert (each["NodeType"] >= 5) == COMM.issubset(each) == ("comm_size" in each)
    assert drained(nodes) == len(nodes)


def test_a_linked_trace_for_the_feeder(pair: tuple[Path, Path], tmp_path: Path) -> None:
    summary = et_link(*pair, tmp_path / "w.json", workload=True)
    et_link(*pair, tmp_path / "w.et")
    nodes = graph(tmp_path / "w.json")
    check(nodes)
    assert sum(len(each["data_deps"]) for each in nodes) == summary["dependencies"]
    kernels = [each for each in nodes if not each["is_cpu_op"]]
    assert len(kernels) == 8 and all(each["runtime"] == 8 for each in kernels)
    (send,) = [each for each in nodes if each["NodeType"] == 5]
    assert (send["comm_dst"], send["comm_tag"], send["comm_size"]) == (1, 7, 2048)
    calls = {each["Id"]: each["Name"] for each in nodes}
    assert "c10d::send" in {calls[before] for before in send["data_deps"]}
    collectives = [each for each in nodes if each["NodeType"] == 7]
    assert [each["comm_type"] for each in collectives] == [0, 0]


def test_it_is_read_again(pair: tuple[Path, Path], tmp_path: Path) -> None:
    et_link(*pair, tmp_path / "w.json", workload=True)
    et_link(*pair, tmp_path / "w.et")
    one, other = et_info(tmp_path / "w.json"), et_info(tmp_path / "w.et")
    assert one["format"] == "Chakra workload graph"
    same = ("nodes", "dependencies", "types", "gpu", "cpu", "finished")
    assert {key: one[key] for key in same} == {key: other[key] for key in same}
    assert {name: row["bytes"] for name, row in one["communication"].items()} == {
        name: row["bytes"] for name, row in other["communication"].items()
    }
    et_convert(tmp_path / "w.json", tmp_path / "again.json", workload=True)
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "w.json").read_bytes()
    et_convert(tmp_path / "w.json", tmp_path / "w2.et")
    assert et_info(tmp_path / "w2.et")["dependencies"] == one["dependencies"]


@pytest.mark.parametrize("command", ["link", "convert"])
@pytest.mark.parametrize("layout", ["astra-sim", "workload-graph"])
def test_layouts(
    command: str, layout: str, pair: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    inputs = [str(path) for path in (pair if command == "link" else pair[:1])]
    assert cli.main(["et", command, *inputs, "-o", str(tmp_path / "out/"), "--layout", layout]) == 0
    groups = json.loads((tmp_path / "out" / "comm_groups.json").read_text())
    assert groups == {"0": [0, 1, 2], "1": [0, 2]}
    made = tmp_path / "out" / ("trace.0.et" if layout == "astra-sim" else "trace.0.json")
    assert made.exists()
    if layout == "workload-graph":
        check(graph(made))
    capsys.readouterr()
    assert cli.main(["et", "info", "--json", str(tmp_path / "out")]) == 0
    assert len(json.loads(capsys.readouterr().out)["files"]) == 1


def test_foreign_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Missing members, and members of a wrong type."""
    nodes = [
        {"Id": 5, "Name": "a", "NodeType": 4, "ctrlDeps": [], "data_deps": [], "runtime": 3, "is_cpu_op": True},
        {"Id": 6, "Name": "k", "NodeType": 7, "data_deps": [5], "runtime": "x", "is_cpu_op": False, "comm_type": 5},
        {"Id": 7, "NodeType": 99},
        {"Name": "no id"},
    ]
    (tmp_path / "w.json").write_text(json.dumps({"workload_graph": nodes}, indent=2))
    row = et_info(tmp_path / "w.json")
    assert (row["nodes"], row["gpu"], row["dependencies"]) == (3, 1, 1)
    assert (row["faults"]["wrong"], row["faults"]["lost"]) == (2, 1)
    assert row["communication"] == {"BROADCAST": {"count": 1, "bytes": 0, "ns": 0}}
    (tmp_path / "none.json").write_text('{"workload_graph": 5}')
    assert cli.main(["et", "info", str(tmp_path / "none.json")]) == 2
    assert 'it has no "nodes"' in capsys.readouterr().err
