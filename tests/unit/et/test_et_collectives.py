"""The communication of nodes: the innermost node of each, with its kind, group, size and peers."""

from pathlib import Path
from typing import Any

import pytest

from fastdispatch.read.et_collectives import kind_of, level_of
from fastdispatch.read.execution_trace import COLLECTIVES, TYPES, et_info, et_tables
from tests.unit.et.test_et import document, node, write

X = [1, 5, 0, 3, 4, "cpu"]


@pytest.mark.parametrize(
    ("name", "type", "collective"),
    [
        ("ncclDevKernel_AllReduce_Sum_f32_RING_LL", "COMM_COLL", "ALL_REDUCE"),
        ("c10d::_allgather_base_", "COMM_COLL", "ALL_GATHER"),
        ("ncclKernel_ReduceScatter", "COMM_COLL", "REDUCE_SCATTER"),
        ("gloo:reduce", "COMM_COLL", "REDUCE"),
        ("c10d::gather_", "COMM_COLL", "GATHER"),
        ("c10d::scatter_", "COMM_COLL", "SCATTER"),
        ("c10d::barrier", "COMM_COLL", "BARRIER"),
        ("alltoall_base", "COMM_COLL", "ALL_TO_ALL"),
        ("_reduce_scatter_block", "COMM_COLL", "REDUCE_SCATTER_BLOCK"),
        ("ncclDevKernel_Broadcast", "COMM_COLL", "BROADCAST"),
        ("ncclDevKernel_SendRecv", "COMM_COLL", None),
        ("c10d::send", "COMM_SEND", None),
        ("nccl:recv 1<-0", "COMM_RECV", None),
        ("wait", "COMP", None),
    ],
)
def test_kinds_by_name(name: str, type: str, collective: str | None) -> None:
    assert kind_of(name) == (TYPES.index(type), COLLECTIVES.index(collective) if collective else -1)


def test_levels_by_name() -> None:
    names = ("aten::mm", "c10d::send", "record_param_comms", "gloo:send")
    assert [level_of(name) for name in names] == [0, 1, 2, 3]
    assert [level_of(name, gpu=True) for name in ("volta_sgemm", "ncclDevKernel_X")] == [0, 4]


def comm(path: Path, number: int, *nodes: dict[str, Any]) -> dict[str, Any]:
    """The communication of a node, by its id."""
    tables = et_tables(write(path, document(*nodes)))["tables"]
    at = list(tables["nodes"]["id"]).index(number)
    row: dict[str, Any] = {"type": TYPES[tables["nodes"]["type"][at]]}
    if row["type"].startswith("COMM"):
        comms = {name: column[tables["nodes"]["comm"][at] - 1] for name, column in tables["comms"].items()}
        row = comms | row | {"group": tables["texts"][comms["group"]]}
    return row


def lists(values: list[Any], types: tuple[str, ...] = ()) -> dict[str, Any]:
    return {"values": values, "shapes": [], "types": list(types), "strides": []}


def text(name: str, value: str) -> dict[str, str]:
    return {"name": name, "type": "string", "value": value}


def test_work_within_its_call(tmp_path: Path) -> None:
    call = node(8, 2, "c10d::allreduce_", "c10d::allreduce_()", inputs=lists([[X], "<Object>"]))
    label = node(3, 2, "## process_group:init ##", inputs=lists(['[{"pg_name": "0", "ranks": [], "group_size": 2}]']))
    nodes = (label, call, node(9, 8, "gloo:all_reduce", inputs=lists([X])))
    found = comm(tmp_path / "a.json", 9, *nodes)
    assert {key: found[key] for key in ("type", "group", "bytes", "src")} == {
        **{"type": "COMM_COLL", "group": "0"},
        **{"bytes": 12, "src": -1},
    }
    assert comm(tmp_path / "a.json", 8, *nodes) == {"type": "COMP"}
    assert comm(tmp_path / "a.json", 3, *nodes) == {"type": "METADATA"}
    assert et_info(tmp_path / "a.json")["edges"]["launch"] == 1


def test_work_on_another_thread(tmp_path: Path) -> None:
    """Its call is not around it."""
    call = node(3, 2, "c10d::recv_", "c10d::recv_()", inputs=lists([[X], "<Object>", 3, 9]))
    nodes = (call, node(4, 2, "gloo:recv", inputs=lists([X])))
    found = comm(tmp_path / "a.json", 4, *nodes)
    assert (found["type"], found["src"], found["tag"]) == ("COMM_RECV", 3, 9)
    assert comm(tmp_path / "a.json", 3, *nodes) == {"type": "COMP"}


def params(dtype: str) -> dict[str, Any]:
    values = [[[1, 5, 0, 3, 4, "cuda:0"]], [7, True], ["pg1", "tp"], 6, "send", [], [], 0, 1, 8]
    types = ("GenericList[Tensor(float)]", "GenericList[Int,Bool]", "Tuple[String,String]", "Int", "String")
    made = node(4, 3, "record_param_comms", inputs=lists(values, types))
    made["attrs"] += [text("collective_name", "send"), text("dtype", dtype)]
    made["attrs"].append({"name": "in_msg_nelems", "type": "uint64", "value": 5})
    return made


def test_kernel_with_the_facts_of_its_call(tmp_path: Path) -> None:
    kernel = node(5, 4, "ncclDevKernel_SendRecv", cat="kernel", stream=20, ts=5)
    nodes = (node(3, 2, "c10d::send", "c10d::send()"), params("Float"), kernel)
    found = comm(tmp_path / "a.json", 5, *nodes)
    assert {key: found[key] for key in ("type", "group", "dst", "bytes")} == {
        **{"type": "COMM_SEND", "group": "pg1"},
        **{"dst": 6, "bytes": 20},
    }
    assert comm(tmp_path / "a.json", 4, *nodes) == {"type": "COMP"}


def test_size_of_an_unknown_dtype_is_that_of_the_tensors(tmp_path: Path) -> None:
    found = comm(tmp_path / "a.json", 4, node(3, 2, "c10d::send", "c10d::send()"), params("Posit16"))
    assert found["bytes"] == 12
    assert et_info(tmp_path / "a.json")["faults"]["dtype"] == "Posit16"


def test_kernel_that_states_its_group(tmp_path: Path) -> None:
    """A kernel of a trace that `et link` wrote, without the call that started it."""
    kernel = node(4, 2, "ncclDevKernel_AllReduce_Sum_f32_RING", cat="kernel", stream=20, ts=5, pg_name="tp")
    found = comm(tmp_path / "a.json", 4, kernel)
    assert {key: found[key] for key in ("type", "group", "src", "dst", "tag", "bytes")} == {
        **{"type": "COMM_COLL", "group": "tp"},
        **dict.fromkeys(("src", "dst", "tag", "bytes"), -1),
    }
