"""What ``et export`` writes, in the hands of the public tools: three ranks on gloo, no GPU."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import pytest

from fastdispatch import cli
from fastdispatch._core import et_convert, et_info, et_link
from tests import processes, standin
from tests.chakra.tools import HERE, TOOLS, Node, converted, decode, linked, tool
from tests.oracle.observed import assert_same_call, calls_of, nodes_of

RANKS, STEPS = 3, 2  # of et_ranks.py
STAND_IN = "fastdispatch stand-in: no kernel ran"
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
    kineto: Path
    linked: list[Node]  # by the public tool
    output: Path  # its file


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("recorded")
    processes.run_ranks("et_ranks.py", RANKS, folder)
    assert cli.main(["et", "export", str(folder / "run"), "-o", str(folder)]) == 0
    et, kineto, output = folder / "et_0.json", folder / "kineto" / "kineto_0.json", folder / "linked.json"
    theirs = nodes_of(folder / "theirs_0.json")
    return Run(theirs, et, folder / "trace.0.et", kineto, linked(et, kineto, output), output)


def names(nodes: list[Node]) -> Counter[str]:
    return Counter(node["name"] for node in nodes)


def test_the_public_linker_reads_both_files(run: Run) -> None:
    ours = nodes_of(run.et)
    assert names(run.linked) - names(ours) == {STAND_IN: STEPS}
    assert not names(ours) - names(run.linked)
    assert all("inclusive_dur" in node for node in run.linked)
    made = et_link(run.et, run.kineto, run.et.parent / "ours.json")
    assert made["link"]["linked"] == len(ours) - len([node for node in ours if not node["attrs"]["rf_id"]])
    assert made["link"]["only_et"] == made["link"]["renamed"] == made["link"]["alone"] == 0
    assert names(nodes_of(run.et.parent / "ours.json")) == names(run.linked)


def test_the_public_converter_reads_the_linked_trace(run: Run) -> None:
    theirs = decode(converted(run.output, run.output.with_suffix(".et")))
    made = et_convert(run.output, run.output.with_name("ours.et"))
    ours = decode(run.output.with_name("ours.et"))
    assert (made["nodes"], made["gpu"], made["faults"]["cycles"]) == (len(run.linked), STEPS, 0)
    (root,) = set(ours) - set(theirs)  # it deletes nodes that nothing waits for and that wait for nothing
    assert ours[root]["name"] == "[pytorch|profiler|execution_trace|process]"
    for number, node in theirs.items():
        assert node["name"] == ours[number]["name"]
        assert set(node["deps"]) <= set(ours[number]["deps"]), node["name"]
        assert set(node["parents"]) <= set(ours[number]["parents"])


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
    """One difference: work on a thread of gloo that is not inside another operator is below the root of that thread.
    PyTorch's observer puts it below any call that is open, at that moment, on the requesting thread."""
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
        assert above == calls[0][node["ctrl_deps"]] or (above == 0 and own["attrs"]["tid"] in threads)


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
    command = [sys.executable, str(HERE / "replay.py"), str(packages), *map(str, paths)]
    environment = processes.environment()
    done = subprocess.run(command, text=True, capture_output=True, timeout=120, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    theirs, ours = json.loads(done.stdout)
    assert ours["finished"] and theirs["finished"]
    assert Counter(ours["operators"]) == Counter(theirs["operators"])
    assert ours["skipped"] == theirs["skipped"]
    assert len(ours["operators"]) > 100


def test_hta_analyses_the_ranks(run: Run) -> None:
    command = [str(TOOLS / "python"), str(HERE / "analyse.py"), str(run.kineto.parent)]
    done = subprocess.run(command, text=True, capture_output=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["ranks"] == [0, 1, 2]
    assert found["iterations"] == [0, 1]
    assert [row["rank"] for row in found["breakdown"]] == [0, 1, 2]
    assert all(row["compute_time(us)"] == STEPS for row in found["breakdown"])  # its stand-ins, 1 us each
    assert (found["kernels"], found["launches"], found["critical"]) == ([STAND_IN], STEPS, True)
    calls = names([node for node in nodes_of(run.et) if node["attrs"]["rf_id"]])
    steps = {f"ProfilerStep#{step}": 1 for step in range(STEPS)}
    assert Counter(found["names"]) == calls + Counter(steps) + Counter({"cudaLaunchKernel": STEPS})


def test_the_public_tools_read_recorded_kernels(tmp_path: Path) -> None:
    """A training that believes in two GPUs: as many kernels by name, below the same calls, and no stand-in."""
    folder = standin.build(tmp_path)
    processes.run("gpu_training.py", folder, folder / "out", "traces", "libcudart.so.13")
    assert cli.main(["et", "export", str(folder / "out" / "traces"), "-o", str(folder)]) == 0
    output = folder / "linked.json"
    made = linked(folder / "et_0.json", folder / "kineto" / "kineto_0.json", output)
    theirs = decode(converted(output, output.with_suffix(".et"))).values()
    ours = decode(folder / "trace.0.et")

    def kernels(nodes: Iterable[Node]) -> Counter[str]:
        return Counter(node["name"] for node in nodes if node["attrs"]["is_cpu_op"][1] is False)

    wanted = kernels(ours.values())
    assert sum(wanted.values()) > 800 and STAND_IN not in wanted
    assert Counter(node["name"] for node in made if "cat" in node) == wanted
    assert kernels(theirs) == wanted
    by_id = {node["id"]: node for node in made}
    for node in made:
        if "cat" in node:
            assert node["name"] == f"fastdispatch interval: {by_id[node['ctrl_deps']]['name']}"
    for node in ours.values():
        if node["attrs"]["is_cpu_op"][1] is False:
            assert node["name"] == f"fastdispatch interval: {ours[node['parents'][0]]['name']}"
            assert node["attrs"]["fd_timing"] == ["string_val", "cuda_event"]
    done = subprocess.run(
        [str(TOOLS / "python"), str(HERE / "analyse.py"), str(folder / "kineto")],
        text=True, capture_output=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["launches"] == sum(wanted.values())
    assert set(found["kernels"]) - {"others"} <= set(wanted)
