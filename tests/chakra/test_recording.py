"""What ``et export`` writes, in the hands of the public tools: three ranks on gloo, no GPU."""

import json
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest

import fastdispatch
from fastdispatch import cli
from fastdispatch.read.execution_trace import et_info, et_link
from tests import processes, standin
from tests.chakra.tools import HERE, TOOLS, Node, converted, decode, linked, tool
from tests.oracle.observed import assert_same_call, calls_of, nodes_of

torch = pytest.importorskip("torch")

RANKS = 3  # of et_ranks.py
#: What the feeder of simulators reads of each attribute: another type is read as 0.
TYPES = {
    "is_cpu_op": "bool_val",
    "comm_type": "int64_val",
    "comm_size": "int64_val",
    "comm_src": "int32_val",
    "pg_name": "string_val",
    "rf_id": "int64_val",
    "fw_parent": "int64_val",
    "seq_id": "int64_val",
    "scope": "int64_val",
    "tid": "int64_val",
    "fw_tid": "int64_val",
    "op_schema": "string_val",
    "stream": "int64_val",
    "fd_edges": "bytes_val",
}


class Run(NamedTuple):
    theirs: list[Node]  # as PyTorch's observer has rank 0
    et: Path  # of rank 0
    chakra: Path


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("recorded")
    processes.run_ranks("et_ranks.py", RANKS, folder)
    assert cli.main(["et", "export", str(folder / "run"), "-o", str(folder)]) == 0
    return Run(nodes_of(folder / "theirs_0.json"), folder / "et_0.json", folder / "trace.0.et")


def names(nodes: list[Node]) -> Counter[str]:
    return Counter(node["name"] for node in nodes)


def test_the_public_converter_reads_our_file(run: Run, tmp_path: Path) -> None:
    theirs = decode(converted(run.et, tmp_path / "theirs.et"))
    ours = decode(run.chakra)
    (root,) = set(ours) - set(theirs)  # it deletes nodes that nothing waits for and that wait for nothing
    assert ours[root]["name"] == "[pytorch|profiler|execution_trace|process]"
    for number, node in theirs.items():
        assert node["name"] == ours[number]["name"]
        assert set(node["deps"]) <= set(ours[number]["deps"]), node["name"]
        assert set(node["parents"]) <= set(ours[number]["parents"])


def test_the_public_linker_reads_our_file(tmp_path: Path) -> None:
    """With the trace of torch.profiler of the same step, to which a kernel is added: it stops without one."""
    model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU())
    with (
        fastdispatch.CallGraph(tmp_path / "run", et=True),
        torch.profiler.profile() as profiler,
        torch.profiler.record_function("ProfilerStep#0"),
    ):
        model(torch.ones(2, 4)).sum().backward()
    profiler.export_chrome_trace(str(tmp_path / "kineto.json"))
    trace = json.loads((tmp_path / "kineto.json").read_text())
    operator = next(event for event in trace["traceEvents"] if event["name"] == "aten::addmm")
    args = {"External id": operator["args"]["External id"], "correlation": 1}
    launch = {"cat": "cuda_runtime", "name": "cudaLaunchKernel", "dur": 1, "args": args}
    kernel = {"cat": "kernel", "name": "addmm kernel", "ts": operator["ts"] + 2, "args": args | {"stream": 7}}
    trace["traceEvents"] += [operator | launch, operator | kernel]
    (tmp_path / "kineto.json").write_text(json.dumps(trace))
    assert cli.main(["et", "export", str(tmp_path / "run"), "-o", str(tmp_path)]) == 0
    et, kineto = tmp_path / "et_0.json", tmp_path / "kineto.json"
    theirs = linked(et, kineto, tmp_path / "theirs.json")
    made = et_link(et, kineto, tmp_path / "ours.json")
    ours = nodes_of(tmp_path / "ours.json")
    assert made["link"]["linked"] == sum(node["attrs"]["rf_id"] > 0 for node in nodes_of(et)) > 10
    assert made["link"]["only_et"] == made["link"]["renamed"] == made["link"]["alone"] == 0
    assert names(ours) == names(theirs) == names(nodes_of(et)) + Counter(["addmm kernel"])


def test_jsonizer_and_visualizer_take_our_file(run: Run, tmp_path: Path) -> None:
    nodes = et_info(run.chakra)["nodes"]
    output, picture = tmp_path / "a.json", tmp_path / "a.graphml"
    tool("chakra_jsonizer", "--input_filename", run.chakra, "--output_filename", output, folder=tmp_path)
    lines = output.read_text().splitlines()
    assert sum(line.startswith('  "id"') for line in lines) == nodes
    printed = Counter(json.loads(line.split(":", 1)[1].rstrip(",")) for line in lines if line.startswith('  "name"'))
    assert printed == names(nodes_of(run.et))
    tool("chakra_visualizer", "--input_filename", run.chakra, "--output_filename", picture, folder=tmp_path)
    assert picture.read_text().count("<node ") == nodes


def test_generated_code_reads_every_field(run: Run) -> None:
    """The .et that was written at once against the execution trace of the same recording."""
    found, wanted = decode(run.chakra), nodes_of(run.et)
    assert list(found) == sorted(found) == [node["id"] for node in wanted]
    edges: Counter[int] = Counter()
    for node in wanted:
        made = found[node["id"]]
        attrs = {name: value for name, (_, value) in made["attrs"].items()}
        assert {name: kind for name, (kind, _) in made["attrs"].items() if name in TYPES} == {
            name: kind for name, kind in TYPES.items() if name in made["attrs"]
        }
        assert made["name"] == node["name"]
        assert made["parents"] == [each for each in [node["ctrl_deps"]] if each != node["id"]]
        for key, side in (("inputs", node["inputs"]), ("outputs", node["outputs"])):
            assert [json.loads(text or "[]") for text in made[key]] == [side[k] for k in ("values", "shapes", "types")]
        assert json.loads(attrs.get("fd_in_strides", "[]")) == node["inputs"]["strides"]
        assert json.loads(attrs.get("fd_out_strides", "[]")) == node["outputs"]["strides"]
        for key in ("rf_id", "fw_parent", "seq_id", "scope", "tid", "fw_tid", "op_schema"):
            assert attrs[key] == node["attrs"][key]
        assert attrs["is_cpu_op"] is True
        if node["ctrl_deps"] != node["id"]:
            assert attrs["fd_dur_ns"] == round(node["inclusive_dur"] * 1000)
            assert attrs["fd_self_ns"] == round(node["exclusive_dur"] * 1000)
            assert abs(made["start"] - node["ts"]) <= 1 and abs(made["duration"] - node["exclusive_dur"]) <= 0.5
        assert all(each < node["id"] for each in made["deps"])
        kinds = attrs.get("fd_edges", [])
        assert len(kinds) == len(made["deps"])
        edges.update(bit for kind in kinds for bit in range(8) if kind >> bit & 1)
    reported = et_info(run.chakra)["edges"]
    assert [edges[bit] for bit in range(8)] == list(reported.values())
    assert reported["order"] > 300 and reported["data"] > 200 and reported["group"] == 3
    moved = [(node["name"], node["type"], node["attrs"]["comm_type"][1]) for node in found.values() if node["type"] > 4]
    assert moved == [("gloo:broadcast", 7, 5)] * 2 + [("gloo:all_reduce", 7, 0)] * 2
    assert {node["attrs"]["pg_name"][1] for node in found.values() if node["type"] > 4} == {"0"}


def test_the_observer_saw_the_same_step_with_collectives(run: Run) -> None:
    """One difference: a call on a thread of gloo is below the open call of that thread, and work below its root.
    PyTorch's observer puts both below any call that is open, at that moment, on the requesting thread."""
    sides = run.theirs, nodes_of(run.et)
    theirs, ours = (calls_of(nodes) for nodes in sides)
    assert theirs.keys() == ours.keys()
    calls = [{node["id"]: node["attrs"]["rf_id"] for node in nodes} for nodes in sides]
    work = [node for node in ours.values() if node["name"].startswith("gloo:")]
    assert len(work) == 4
    assert all(calls[1][node["ctrl_deps"]] == 0 for node in work)
    threads = {node["attrs"]["tid"] for node in work}
    for number, node in theirs.items():
        own = ours[number]
        assert_same_call(own, node)
        above = calls[1][own["ctrl_deps"]]
        if own["attrs"]["tid"] in threads and above != 0:
            assert ours[above]["attrs"]["tid"] == own["attrs"]["tid"]
        else:
            assert above == calls[0][node["ctrl_deps"]] or own["attrs"]["tid"] in threads


def with_thread_roots(path: Path, ours: list[Node], output: Path) -> Path:
    """Copy the observer's trace with the calls below the root of their thread where ``ours`` has them there.

    The workers of gloo run with the thread number of the requesting thread, and the observer keeps one stack per
    number: parents of calls that overlap with gloo vary between runs, and et_replay selects operators by parents."""
    trace = json.loads(path.read_text())
    (process,) = (node["id"] for node in ours if node["ctrl_deps"] == node["id"])
    roots = {node["id"] for node in ours if node["ctrl_deps"] == process}
    first = {number for number, node in calls_of(ours).items() if node["ctrl_deps"] in roots}
    (process,) = (node["id"] for node in trace["nodes"] if node["ctrl_deps"] == node["id"])
    threads = {value(node, "tid"): node["id"] for node in trace["nodes"] if node["ctrl_deps"] == process}
    for node in trace["nodes"]:
        if value(node, "rf_id") in first:
            node["ctrl_deps"] = threads[value(node, "tid")]
    output.write_text(json.dumps(trace))
    return output


def value(node: Node, name: str) -> object:
    return next(attr["value"] for attr in node["attrs"] if attr["name"] == name)


def test_et_replay_runs_as_many_operators_as_of_the_observers_trace(run: Run, tmp_path: Path) -> None:
    (packages,) = (TOOLS.parent / "lib").glob("python3*/site-packages")
    paths = with_thread_roots(run.et.parent / "theirs_0.json", nodes_of(run.et), tmp_path / "theirs.json"), run.et
    theirs, ours = json.loads(processes.python_program(HERE / "replay.py", packages, *paths).stdout)
    assert ours["finished"] and theirs["finished"]
    assert Counter(ours["operators"]) == Counter(theirs["operators"])
    assert ours["skipped"] == theirs["skipped"]
    assert len(ours["operators"]) > 100


def test_generated_code_reads_recorded_kernels(tmp_path: Path) -> None:
    """A training with a simulated GPU: kernels below their calls."""
    folder = standin.build(tmp_path)
    processes.run("gpu_kernels.py", folder, folder / "out", "traces")
    assert cli.main(["et", "export", str(folder / "out" / "traces"), "-o", str(folder)]) == 0
    ours = decode(folder / "trace.0.et")
    kernels = [node for node in ours.values() if node["attrs"]["is_cpu_op"][1] is False]
    assert len(kernels) == 12
    for node in kernels:
        assert node["name"] == f"fastdispatch interval: {ours[node['parents'][0]]['name']}"
        assert node["attrs"]["fd_timing"] == ["string_val", "cuda_event"]
