"""Dependencies: each kind is found, counted, switched and kept; none that was derived closes a cycle."""

import json
import tempfile
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fastdispatch.cli.et.et_files import ALL, KINDS, parse_edges
from fastdispatch.read.execution_trace import et_convert, et_info, et_link, et_tables
from tests import commands
from tests.chakra.pairs import node, write_pair

ROOT = node(1, 1, "[pytorch|profiler|execution_trace|process]", 0)


def root(number: int, tid: int = 1) -> dict[str, Any]:
    made = node(number, 1, "[pytorch|profiler|execution_trace|thread]", 0)
    made["attrs"][4]["value"] = tid
    return made


def tensor(storage: int, elements: int = 8) -> list[Any]:
    return [storage + 1000, storage, 0, elements, 4, "cuda:0"]


def write(path: Path, nodes: list[dict[str, Any]]) -> Path:
    head = {"schema": "1.1.1-chakra.0.0.4", "pid": 7, "time": "2026-11-22 05:02:45", "start_ts": 5}
    path.write_text(json.dumps(head | {"nodes": [*nodes, ROOT], "finish_ts": 9}))
    return path


def edges_of(path: Path, kinds: int = 255) -> list[tuple[int, int]]:
    tables = et_tables(path, edges=kinds)["tables"]
    ids, edges = tables["nodes"]["id"], tables["edges"]
    return [(ids[start], ids[end]) for start, end in zip(edges["from"], edges["to"], strict=True)]


def params(number: int, parent: int, what: str, storage: int) -> dict[str, Any]:
    """What NCCL's process group records around each collective."""
    made = node(number, parent, "record_param_comms", number)
    values = [[tensor(storage)], 7, ["0", "default"], 0, what, [], [], 0, 1, 2]
    types = ["GenericList[Tensor(float)]", "Int", "Tuple[String,String]", "Int", "String"]
    made["inputs"] = {"values": values, "shapes": [[[8]]], "types": types, "strides": [[[1]]]}
    texts = {"collective_name": what, "dtype": "Float", "pg_name": "0"}
    made["attrs"] += [{"name": key, "type": "string", "value": value} for key, value in texts.items()]
    made["attrs"].append({"name": "in_msg_nelems", "type": "uint64", "value": 8})
    return made


@pytest.mark.parametrize("work", ["nccl:all_reduce", "gloo:all_reduce", "ucc:allreduce", "mpi:all_reduce"])
@pytest.mark.parametrize("inner", [True, False])
def test_a_collective_is_one_node(work: str, inner: bool, tmp_path: Path) -> None:
    """Below record_param_comms or beside it, with c10d's call around both."""
    nodes = [root(2)]
    for number in (10, 20, 30):
        nodes += [
            node(number, 2, "c10d::allreduce_", number, "c10d::allreduce_()", ([[tensor(5)]], [[tensor(5)]])),
            params(number + 1, number, "allreduce", 5),
            node(number + 2, number + 1 if inner else number, work, number + 2, "", ([[tensor(5)]], [])),
        ]
    row = et_info(write(tmp_path / "et.json", nodes))
    assert row["communication"] == {"ALL_REDUCE": {"count": 3, "bytes": 96, "ns": 0}}
    assert row["edges"]["group"] == 2
    assert row["faults"]["collectives_unknown"] == 0


@pytest.mark.parametrize("around", ["record_param_comms", "nccl:all_reduce"])
def test_the_kernel_of_a_collective_is_that_node(around: str, tmp_path: Path) -> None:
    kernel = node(13, 11 if around == "record_param_comms" else 12, "ncclDevKernel_AllReduce_Sum_f32", 11)
    kernel |= {"cat": "kernel", "ph": "X", "ts": 5, "inclusive_dur": 4, "exclusive_dur": 4, "stream": 20}
    nodes = [
        root(2),
        node(10, 2, "c10d::allreduce_", 10, "c10d::allreduce_()", ([[tensor(5)]], [[tensor(5)]])),
        params(11, 10, "allreduce", 5),
        node(12, 11, "nccl:all_reduce", 12, "", ([[tensor(5)]], [])),
        kernel,
    ]
    row = et_info(write(tmp_path / "et.json", nodes))
    assert row["communication"] == {"ALL_REDUCE": {"count": 1, "bytes": 32, "ns": 4000}}


def test_two_collectives_of_one_call(tmp_path: Path) -> None:
    nodes = [root(2), node(10, 2, "c10d::allgather_", 10, "c10d::allgather_()")]
    nodes += [node(number, 10, "nccl:all_gather", number, "", ([[tensor(number)]], [])) for number in (11, 12)]
    assert et_info(write(tmp_path / "et.json", nodes))["communication"]["ALL_GATHER"]["count"] == 2


def test_threads_take_turns_by_id(tmp_path: Path) -> None:
    """Forward, backward on another thread, optimizer: data passes in the order of ids, not thread by thread."""
    nodes = [
        root(2, 1),
        root(11, 2),
        node(10, 2, "aten::mm", 10, "aten::mm()", ([tensor(1)], [tensor(2)])),
        node(12, 11, "MmBackward0", 12, "aten::mm()", ([tensor(2)], [tensor(3)])),
        node(14, 2, "aten::add_", 14, "aten::add_(Tensor(a!) x)", ([tensor(1), tensor(3)], [tensor(1)])),
    ]
    path = write(tmp_path / "et.json", nodes)
    assert et_info(path)["edges"]["data"] == 3
    assert set(edges_of(path)) >= {(10, 12), (12, 14), (10, 14)}


def test_a_cycle_that_the_file_states(tmp_path: Path) -> None:
    nodes = [root(2), node(3, 2, "a", 3), node(4, 2, "b", 4) | {"inter_thread_dep": 5}, node(5, 2, "c", 5)]
    path = write(tmp_path / "et.json", nodes)
    cut = "1 cycle cut (1 given), the first of order, given; dropped the edge from 5 (c) to 4 (b)"
    assert cut in commands.out("et", "check", path, status=1)


NAMES = ["aten::mm", "aten::add_", "c10d::allreduce_", "c10d::recv_", "gloo:all_reduce", "gloo:recv", "nccl:all_reduce"]


@st.composite
def traces(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Calls on several threads, nested, with tensors of few storages, in any order."""
    threads = draw(st.integers(1, 3))
    nodes = [root(number + 2, number) for number in range(threads)]
    parents = {thread: [thread + 2] for thread in range(threads)}
    timed = draw(st.booleans())
    for number in range(10, 10 + 2 * draw(st.integers(0, 24)), 2):
        thread = draw(st.integers(0, threads - 1))
        parent = draw(st.sampled_from(parents[thread]))
        sides = [
            [tensor(storage) for storage in draw(st.lists(st.integers(1, 4), max_size=3))]
            for _ in ("inputs", "outputs")
        ]
        name = draw(st.sampled_from(NAMES))
        schema = f"{name}(Tensor(a!) x)" if name.endswith("_") else f"{name}()" if "::" in name else ""
        made = node(number, parent, name, number, schema, sides)
        if timed:
            times = draw(st.integers(1, 200)), draw(st.integers(0, 90))
            made |= {"ts": times[0], "inclusive_dur": times[1], "exclusive_dur": times[1]}
        nodes.append(made)
        parents[thread] = draw(st.sampled_from([[*parents[thread], number], [parent, number], parents[thread]]))
    return draw(st.permutations(nodes))


@settings(max_examples=300, deadline=None)
@given(traces())
def test_no_derived_dependency_closes_a_cycle(nodes: list[dict[str, Any]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = write(Path(folder) / "et.json", nodes)
        row = et_info(path)
        assert row["faults"]["cycles"] == 0
        assert not any(row["faults"]["cut"].values())
        sorter: TopologicalSorter[int] = TopologicalSorter()
        for before, after in edges_of(path):
            sorter.add(after, before)
        sorter.prepare()


def test_work_waits_for_its_call(tmp_path: Path) -> None:
    """PyTorch puts work of gloo, and the next call, below whatever is open on the thread of the caller."""

    def call(number: int, parent: int, storage: int) -> dict[str, Any]:
        return node(number, parent, "c10d::allreduce_", number, "c10d::allreduce_()", ([[tensor(storage)]], []))

    def work(number: int, parent: int, storage: int) -> dict[str, Any]:
        return node(number, parent, "gloo:all_reduce", number, "", ([tensor(storage)], []))

    nodes = [root(2), call(10, 2, 1), node(11, 2, "aten::mm", 11, "aten::mm()"), work(12, 11, 1)]
    nodes += [call(20, 2, 2), work(21, 20, 2), call(30, 20, 3), work(31, 20, 3)]
    nodes += [call(40, 2, 4), call(41, 2, 5), work(42, 41, 4), work(43, 2, 5)]
    path = write(tmp_path / "et.json", nodes)
    for kinds in (255, 1 << KINDS.index("launch")):
        row = et_info(path, edges=kinds)
        assert row["communication"]["ALL_REDUCE"]["count"] == 5
        assert row["edges"]["launch"] == 5
    assert set(edges_of(path, 1 << KINDS.index("launch"))) == {(10, 12), (20, 21), (30, 31), (40, 42), (41, 43)}


@pytest.fixture(scope="module")
def linked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A step of a rank with a GPU: the third kernel runs on another stream, which waits for the second."""
    folder = tmp_path_factory.mktemp("edges")
    et, kineto = write_pair(folder, 8)
    trace = json.loads(kineto.read_text())
    events = trace["traceEvents"]
    first, second, third = [event for event in events if event["cat"] == "kernel"][:3]
    third["args"]["stream"] = 9
    waits = {"stream": 9, "wait_on_stream": 7, "correlation": second["args"]["correlation"] + 1}
    waits["wait_on_cuda_event_record_corr_id"] = second["args"]["correlation"] + 1
    events.append({**first, "cat": "cuda_sync", "name": "Stream Wait Event", "args": waits})
    kineto.write_text(json.dumps(trace))
    # What another program says, and not why.
    document = json.loads(et.read_text())
    document["nodes"][3]["inter_thread_dep"] = document["nodes"][1]["id"]
    et.write_text(json.dumps(document))
    et_link(et, kineto, folder / "linked.json")
    return folder / "linked.json"


def test_all_kinds_are_counted(linked: Path) -> None:
    edges = et_info(linked)["edges"]
    assert list(edges) == list(KINDS)
    assert {kind: edges[kind] for kind in ("launch", "stream", "event", "group", "given")} == {
        "launch": 8,
        "stream": 6,
        "event": 1,
        "group": 1,
        "given": 1,
    }
    assert edges["order"] >= 9
    assert edges["sync"] >= 1
    assert edges["data"] >= 7


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("end", [".et", ".json"])
def test_each_kind_is_switched(kind: str, end: str, linked: Path, tmp_path: Path) -> None:
    whole = et_info(linked)["edges"]
    alone = et_info(linked, edges=parse_edges(kind))
    assert {name: count for name, count in alone["edges"].items() if count} == {kind: whole[kind]}
    assert alone["dependencies"] == whole[kind]
    without = et_convert(linked, tmp_path / f"a{end}", edges=parse_edges(f"-{kind}"))
    assert without["edges"] == whole | {kind: 0}
    # In a .et stands what there is; of the JSON what calls and tensors tell is found again.
    again = et_info(tmp_path / f"a{end}")["edges"]
    reported = end == ".et" or kind in ("sync", "event", "given")
    assert again == (whole | {kind: 0} if reported else whole)


def test_kinds_survive_every_form(linked: Path, tmp_path: Path) -> None:
    there, back = tmp_path / "there.et", tmp_path / "back.json"
    whole = et_info(linked)["edges"]
    assert et_convert(linked, there, edges=ALL)["edges"] == whole
    assert et_convert(there, back)["edges"] == whole
    assert et_info(back)["edges"] == whole
