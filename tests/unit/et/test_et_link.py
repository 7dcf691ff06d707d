"""Execution traces joined with Kineto traces: by order without numbers, of the same rank and run, or not at all."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fastdispatch import cli
from fastdispatch.cli.et.et_files import rank_of
from fastdispatch.read.execution_trace import et_info, et_link, et_tables, kind_names
from fastdispatch.read.operator_order import nodes_by_order
from tests import commands
from tests.chakra.pairs import node, slice_of, write_pair


def change(path: Path, **members: Any) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | members, indent=1))


def strip_numbers(kineto: Path) -> None:
    """As PyTorch of 2023 wrote it."""
    document = json.loads(kineto.read_text())
    for event in document["traceEvents"]:
        event["args"].pop("Record function id", None)
    kineto.write_text(json.dumps(document))


def test_joined_by_order(tmp_path: Path) -> None:
    et, kineto = write_pair(tmp_path, 40)
    whole = et_link(et, kineto, tmp_path / "whole.et")
    strip_numbers(kineto)
    made = et_link(et, kineto, tmp_path / "order.et")
    assert made["link"] | {"by_order": 0} == whole["link"]
    assert made["link"]["by_order"] == made["link"]["linked"] == 42
    assert (tmp_path / "order.et").read_bytes() == (tmp_path / "whole.et").read_bytes()
    assert '42 operators found by name and order: the Kineto trace has no "Record function id"' in (
        commands.error("et", "link", et, kineto, "-o", tmp_path / "a.et", status=0)
    )


def test_work_of_other_threads() -> None:
    """gloo works on two threads, at the same time: an execution trace has all of them on the thread of the caller, in
    the order of their start."""
    calls = [
        *(("ones", 9, 0), ("broadcast", 7, 0), ("linear", 9, 1), ("allreduce_", 9, 2), ("all_reduce", 7, 3)),
        *(("allreduce_", 9, 4), ("all_reduce", 8, 5), ("allreduce_", 9, 6), ("all_reduce", 8, 7), ("broadcast", 8, 8)),
        *(("addmm", 9, 9), ("all_reduce", 7, 10), ("relu_", 9, 11), ("broadcast", 7, 12), ("barrier", 7, 13)),
        *(("barrier", 8, 0), ("ones", 9, 0)),
    ]
    names = {name: number for number, (name, _, _) in enumerate(calls, 1)}
    nodes = {"name": [names[name] for name, _, _ in calls], **{key: [0] * len(calls) for key in ("flags", "tid")}}
    found = [(node, names[name], thread, ms * 10**6) for node, (name, thread, ms) in enumerate(calls) if ms]
    ops = dict(zip(("name", "thread", "start"), [*zip(*found, strict=True)][1:], strict=True))
    tables = [
        {key: np.array(column) for key, column in (table | {"seq": [-1] * len(table["name"])}).items()}
        for table in (nodes, ops)
    ]
    assert nodes_by_order(tables[0], tables[1], 5).tolist() == [node for node, *_ in found]
    other = {key: column[::-1] for key, column in tables[1].items() if key != "start"} | {"start": tables[1]["start"]}
    assert nodes_by_order(tables[0], other | {"name": other["name"] + 100}, 5).tolist() == [-1] * len(found)


def number_calls(et: Path, kineto: Path) -> None:
    """Autograd's numbers of calls."""
    document, trace = json.loads(et.read_text()), json.loads(kineto.read_text())
    for each in document["nodes"]:
        values = {attr["name"]: attr for attr in each["attrs"]}
        values["seq_id"]["value"] = values["rf_id"]["value"] or -1
    for event in trace["traceEvents"]:
        if event["cat"] == "cpu_op":
            event["args"]["Sequence number"] = event["args"]["Record function id"]
    et.write_text(json.dumps(document))
    kineto.write_text(json.dumps(trace))


def test_joined_by_order_with_calls_missing(tmp_path: Path) -> None:
    """The first calls and some in the middle are not in the Kineto trace."""
    et, kineto = write_pair(tmp_path, 60)
    number_calls(et, kineto)
    whole = et_link(et, kineto, tmp_path / "whole.json")
    strip_numbers(kineto)
    document = json.loads(kineto.read_text())
    calls = [event for event in document["traceEvents"] if event["cat"] == "cpu_op"]
    gone = [*calls[:3], *calls[20:24]]
    document["traceEvents"] = [event for event in document["traceEvents"] if event not in gone]
    kineto.write_text(json.dumps(document))
    made = et_link(et, kineto, tmp_path / "order.json")
    assert made["link"]["by_order"] == whole["link"]["linked"] - 7

    def times(name: str) -> dict[int, Any]:
        nodes = json.loads((tmp_path / name).read_text())["nodes"]
        rf = ({attr["name"]: attr["value"] for attr in node["attrs"]}["rf_id"] for node in nodes)
        return {number: node.get("ts") for number, node in zip(rf, nodes, strict=True) if "cat" not in node}

    before, after = times("whole.json"), times("order.json")
    same = [number for number in before if before[number] == after[number]]
    assert len(same) >= len(before) - 7
    assert et_info(tmp_path / "order.json")["gpu"] == 60


def ranks(folder: Path, names: list[str], pids: list[int]) -> Path:
    """A folder with files of both kinds per rank, which differ in process and rank alone."""
    (folder / "et").mkdir()
    (folder / "kineto").mkdir()
    for rank, (name, pid) in enumerate(zip(names, pids, strict=True)):
        et, kineto = write_pair(folder, 8)
        change(et, pid=pid)
        trace = json.loads(kineto.read_text())
        for event in trace["traceEvents"]:
            event["pid"] = pid if event["cat"] != "kernel" else 0
        kineto.write_text(json.dumps(trace | {"distributedInfo": {"rank": rank, "world_size": len(names)}}))
        et.rename(folder / "et" / f"et_{rank}.json")
        kineto.rename(folder / "kineto" / name)
    return folder


def link(*arguments: object, status: int = 0) -> str:
    """The standard error."""
    return commands.error("et", "link", *arguments, status=status)


def test_pairs_by_process(tmp_path: Path) -> None:
    """The names say the opposite of what is inside."""
    folder = ranks(tmp_path, ["kineto_1.json", "kineto_0.json"], [70, 71])
    link(folder / "et", folder / "kineto", "-o", folder / "out/")
    assert [et_info(folder / "out" / f"trace.{rank}.et")["rank"] for rank in range(2)] == [0, 1]
    link(folder / "et" / "et_0.json", folder / "kineto", "-o", folder / "a.et")
    (folder / "kineto" / "kineto_1.json").unlink()
    printed = link(folder / "et" / "et_0.json", folder / "kineto", "-o", folder / "b.et", status=2)
    assert "no Kineto trace of rank 0, process 70" in printed
    assert not (folder / "b.et").exists()


def test_pairs_by_rank_where_processes_are_equal(tmp_path: Path) -> None:
    """As in containers."""
    folder = ranks(tmp_path, ["a.json", "b.json"], [7, 7])
    link(folder / "et", folder / "kineto", "-o", folder / "out/")
    assert [et_info(folder / "out" / f"trace.{rank}.et")["rank"] for rank in range(2)] == [0, 1]
    (folder / "et" / "et_1.json").rename(folder / "et" / "GPT2.json")
    printed = link(folder / "et" / "GPT2.json", folder / "kineto", "-o", folder / "b.et", status=2)
    assert "may each be the Kineto trace of process 7" in printed


def add_nodes(et: Path, *nodes: dict[str, Any]) -> None:
    document = json.loads(et.read_text())
    et.write_text(json.dumps(document | {"nodes": [*document["nodes"], *nodes]}))


def add_groups(et: Path, *ranks: list[int], world: int = 4) -> None:
    """The process groups of a rank, as gloo has them: nothing else states its rank."""
    groups = [
        {"pg_name": str(name), "pg_desc": "d", "ranks": each, "group_size": len(each) or world}
        for name, each in enumerate(ranks)
    ]
    label = node(5000, 2, "## process_group:init ##", 5000)
    label["inputs"] = {"values": [json.dumps(groups)], "shapes": [[]], "types": ["String"], "strides": [[]]}
    add_nodes(et, label)


def test_pairs_by_process_groups(tmp_path: Path) -> None:
    """Tensor and data parallel groups of four ranks have one rank in common."""
    folder = ranks(tmp_path, ["d.json", "c.json", "b.json", "a.json"], [7] * 4)
    for rank, name in enumerate("wxyz"):
        et = folder / "et" / f"et_{rank}.json"
        add_groups(et, [], [rank, rank ^ 1], [rank % 2, rank % 2 + 2])
        et.rename(folder / "et" / f"{name}.json")
    printed = link(folder / "et", folder / "kineto", "-o", folder / "out/")
    assert "by the rank in its name" not in printed and "not checked" not in printed
    assert [et_info(folder / "out" / f"trace.{rank}.et")["rank"] for rank in range(4)] == [0, 1, 2, 3]
    printed = link(folder / "et" / "w.json", folder / "kineto" / "a.json", "-o", folder / "a.et", status=2)
    assert "a.json: a Kineto trace of rank 3, but the execution trace is of rank 0" in printed


def test_groups_that_do_not_decide(tmp_path: Path) -> None:
    """The names decide between ranks with the same groups, and a line states that."""
    folder = ranks(tmp_path, ["d.json", "c.json", "b.json", "a.json"], [7] * 4)
    for rank in range(4):
        add_groups(folder / "et" / f"et_{rank}.json", [rank // 2 * 2, rank // 2 * 2 + 1])
    printed = link(folder / "et", folder / "kineto", "-o", folder / "out/")
    chosen = folder / "kineto" / "d.json"
    assert f"et_0.json: paired with {chosen} by the rank in its name: the content fits 2 Kineto traces" in printed
    (folder / "et" / "et_2.json").rename(folder / "et" / "x.json")
    printed = link(folder / "et" / "x.json", folder / "kineto", "-o", folder / "a.et", status=2)
    both = " and ".join(str(folder / "kineto" / name) for name in ("a.json", "b.json"))
    assert f"{both} may each be the Kineto trace of one of the ranks 2, 3, process 7" in printed
    printed = link(folder / "et" / "x.json", folder / "kineto" / "c.json", "-o", folder / "a.et", status=2)
    assert "c.json: a Kineto trace of rank 1, which is not in all process groups" in printed


def test_nothing_to_compare(tmp_path: Path) -> None:
    et, kineto = write_pair(tmp_path, 8)
    change(et, pid=0)
    printed = link(et, kineto, "-o", tmp_path / "a.et")
    assert f"{kineto}: not checked for the same rank: one of the files has neither rank nor process" in printed


def test_another_process(tmp_path: Path) -> None:
    folder = ranks(tmp_path, ["a.json", "b.json"], [70, 71])
    et, kineto = folder / "et" / "et_0.json", folder / "kineto" / "b.json"
    printed = link(et, kineto, "-o", folder / "a.et", status=2)
    assert f"{kineto}: a Kineto trace of process 71, but the execution trace is of process 70" in printed
    assert not (folder / "a.et").exists()
    link(et, kineto, "-o", folder / "a.et", "--force")


def test_another_rank(tmp_path: Path) -> None:
    """NCCL's process group names the own rank of each collective."""
    et, kineto = write_pair(tmp_path, 8)
    add_groups(et, [2, 3])
    call = node(5001, 2, "record_param_comms", 5001)
    call["inputs"] = {"values": [7, ["0", "d"], 1], "types": ["Int", "Tuple[String,String]", "Int"], "shapes": []}
    call["attrs"].append({"name": "collective_name", "type": "string", "value": "allreduce"})
    add_nodes(et, call)
    printed = link(et, kineto, "-o", tmp_path / "a.et", status=2)
    assert "a Kineto trace of rank 0, but the execution trace is of rank 3" in printed
    change(kineto, distributedInfo={"rank": 3, "world_size": 4})
    link(et, kineto, "-o", tmp_path / "a.et")


def test_another_run(tmp_path: Path) -> None:
    """The execution trace names its start in an unknown time zone."""
    et, kineto = write_pair(tmp_path, 8)
    start = 1795323765 * 10**9  # 2026-11-22 05:02:45 UTC
    for hours, status in ((0, 0), (-12, 0), (14, 0), (17, 2), (-40, 2), (24 * 30, 2)):
        change(kineto, baseTimeNanoseconds=start + hours * 3600 * 10**9)
        printed = link(et, kineto, "-o", tmp_path / "a.et", status=status)
    assert (
        "a Kineto trace of 2026-12-22 05:02 UTC, but the execution trace is of 2026-11-22 05:02 local time" in printed
    )


def test_nothing_was_linked(tmp_path: Path) -> None:
    et, kineto = write_pair(tmp_path, 8)
    trace = json.loads(kineto.read_text())
    for event in trace["traceEvents"]:
        event["args"]["Record function id"] = 10**6
    kineto.write_text(json.dumps(trace))
    printed = link(et, kineto, "-o", tmp_path / "a.et", status=1)
    assert "nothing was linked" in printed


@pytest.mark.parametrize(
    ("name", "rank"),
    [
        ("et_3.json", 3),
        ("trace.10.et", 10),
        ("rank-12.json.gz", 12),
        ("rank00004.et", 4),
        ("a.rank=2.x.json", 2),
        ("pt2.json", -1),
        ("GPT2_et.json", -1),
        ("resnet_1gpu_et.json", -1),
        ("dlrm_pt2_3.json", 3),
        ("torch2.1_et.json", -1),
        ("torch-2.13.0.json", -1),
        ("host_8782.1669999999999.pt.trace.json", -1),
        ("frank7.json", -1),
    ],
)
def test_ranks_in_names(name: str, rank: int) -> None:
    assert rank_of(name) == rank


@pytest.mark.parametrize("command", ["link", "convert"])
def test_process_groups_for_astra_sim(command: str, tmp_path: Path) -> None:
    """The table of groups of a rank with a GPU, a message and work of gloo."""
    et, kineto = write_pair(tmp_path, 8)
    add_groups(et, [], [0, 2], world=3)
    tensor = [9001, 9002, 0, 512, 4, "cpu"]
    call = node(5002, 2, "c10d::send", 5002, "c10d::send()", ([[tensor], "<Object>", 1, 7], []))
    add_nodes(et, call, node(5004, 2, "gloo:send", 5004, "", ([tensor], [])))
    inputs = [str(et), str(kineto)] if command == "link" else [str(et)]
    assert cli.main(["et", command, *inputs, "-o", str(tmp_path / "out/"), "--layout", "astra-sim"]) == 0
    groups = json.loads((tmp_path / "out" / "comm_groups.json").read_text())
    assert groups == {"0": [0, 1, 2], "1": [0, 2]}
    assert (tmp_path / "out" / "trace.0.et").exists()
    assert len(commands.document("et", "info", tmp_path / "out")["files"]) == 1


def wait(tmp_path: Path, *events: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Return the waits that events mean: kinds, names of the kernel and of the later node. Operators launch kernels
    with correlations from 1 on, on streams 1, 2, ..., 10 us after their own start."""
    nodes = [node(1, 1, "[pytorch|profiler|execution_trace|process]", 0)]
    nodes.append(node(2, 1, "[pytorch|profiler|execution_trace|thread]", 0))
    trace = []
    for at in range(1, 4):
        nodes.append(node(2 + at, 2, f"aten::op{at}", at, "op(Tensor x) -> Tensor"))
        begin = 1000 + 100 * at
        trace.append(slice_of("cpu_op", f"aten::op{at}", begin, 5, **{"Record function id": at}))
        trace.append(slice_of("cuda_runtime", "cudaLaunchKernel", begin + 1, 2, correlation=at))
        trace.append(slice_of("kernel", f"k{at}", begin + 10, 20, correlation=at, stream=at))
    et, kineto = tmp_path / "et.json", tmp_path / "kineto.json"
    et.write_text(json.dumps({"schema": "1.1.1-chakra.0.0.4", "pid": 7, "nodes": nodes, "finish_ts": 9}))
    kineto.write_text(json.dumps({"traceEvents": [*trace, *events]}))
    et_link(et, kineto, tmp_path / "linked.et")
    tables = et_tables(tmp_path / "linked.et")["tables"]
    names = [tables["texts"][number] for number in tables["nodes"]["name"]]
    edges = zip(tables["edges"]["from"], tables["edges"]["to"], tables["edges"]["kinds"], strict=True)
    return [(kind, names[one], names[two]) for one, two, kinds in edges for kind in kind_names(kinds) if kind in WAITS]


WAITS = ("sync", "event")


def call(name: str, **args: Any) -> dict[str, Any]:
    """A call between the second and the third operator."""
    return slice_of("cuda_runtime", name, 1240, 10, **args)


def test_threads_wait_for_kernels(tmp_path: Path) -> None:
    """A device for all streams, a stream for the last kernel of one, a copy for its own."""
    both = [("sync", "k1", "aten::op3"), ("sync", "k2", "aten::op3")]
    assert wait(tmp_path, call("cudaDeviceSynchronize", correlation=9)) == both
    assert wait(tmp_path, call("cudaStreamSynchronize", correlation=9)) == both[1:]
    sync = slice_of("cuda_sync", "Stream Sync", 1245, 0, correlation=9, stream=1)
    assert wait(tmp_path, call("cudaStreamSynchronize", correlation=9), sync) == both[:1]
    assert wait(tmp_path, call("cudaMemcpy", correlation=1)) == both[:1]
    assert wait(tmp_path, call("cudaMemcpy")) == wait(tmp_path, call("cudaLaunchKernel")) == []


def test_streams_wait_for_events(tmp_path: Path) -> None:
    """The event follows the first kernel; a stream of this number on another device has none."""
    event = {"stream": 2, "wait_on_stream": 1, "wait_on_cuda_event_record_corr_id": 2, "correlation": 2}
    sync = slice_of("cuda_sync", "Stream Wait Event", 1190, 0, **event)
    assert wait(tmp_path, sync) == [("event", "k1", "k2")]
    assert wait(tmp_path, slice_of("cuda_sync", "Stream Wait Event", 1190, 0, **event, device=1)) == []
    late = slice_of("cuda_sync", "Stream Wait Event", 1190, 0, **event | {"correlation": 40})
    assert wait(tmp_path, late) == []


def test_operators_in_one_trace_alone(tmp_path: Path) -> None:
    """Counted by reason; a kernel without a launch has the operator of its external id."""
    et, kineto = write_pair(tmp_path, 8)
    trace = json.loads(kineto.read_text())
    ops = [event for event in trace["traceEvents"] if event["cat"] == "cpu_op"]
    kernels = [event for event in trace["traceEvents"] if event["cat"] == "kernel"]
    ops[0]["args"]["Record function id"] = 999
    ops[1]["name"] = "aten::other"
    ops[3]["args"]["Record function id"] = ops[2]["args"]["Record function id"]
    ops[3]["name"] = ops[2]["name"]
    del ops[4]["args"]["Record function id"]
    kernels[5]["args"]["correlation"] = 77
    kernels[6]["args"] = {"stream": 7}
    kineto.write_text(json.dumps(trace))
    link = et_link(et, kineto, tmp_path / "a.et")["link"]
    counts = ("linked", "only_et", "only_kineto", "unnumbered", "renamed", "again", "by_external", "alone", "kernels")
    assert [link[name] for name in counts] == [6, 4, 1, 1, 1, 1, 1, 1, 8]
    assert link["example"] == "3 is aten::add in one and aten::other in the other"


def test_the_largest_id(tmp_path: Path) -> None:
    """Kernels get new ids after those of all nodes; no number is above this id."""
    et, kineto = write_pair(tmp_path, 8)
    et_link(et, kineto, tmp_path / "usual.et")
    document = json.loads(et.read_text())
    max(document["nodes"], key=lambda each: each["id"])["id"] = (1 << 64) - 1
    et.write_text(json.dumps(document))
    et_link(et, kineto, tmp_path / "large.et")
    assert (tmp_path / "large.et").read_bytes() == (tmp_path / "usual.et").read_bytes()
