"""The public tools for Chakra take our files, and ours hold all that theirs do. ``make test-consumers``."""

import json
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from fastdispatch.read.execution_trace import et_convert, et_info, et_link
from tests.chakra.pairs import write_pair
from tests.chakra.tools import TOOLS, Node, converted, decode, linked

OPERATORS = 400


class Files(NamedTuple):
    et: Path
    kineto: Path
    linked: Path  # by us, PyTorch's form
    chakra: Path  # the same as .et
    public: Path  # the converter's .et of our linked file


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    folder = tmp_path_factory.mktemp("chakra")
    et, kineto = write_pair(folder, OPERATORS)
    linked, chakra = folder / "linked.json", folder / "linked.0.et"
    et_link(et, kineto, linked)
    et_convert(linked, chakra)
    return Files(et, kineto, linked, chakra, converted(linked, folder / "public.et"))


def test_generated_code_reads_written_traces(files: Files) -> None:
    """Field by field: what protobuf decodes of the .et is what stands in the JSON of the same graph."""
    nodes = decode(files.chakra)
    wanted = json.loads(files.linked.read_text())["nodes"]
    assert list(nodes) == [node["id"] for node in wanted] == sorted(nodes)
    for node in wanted:
        found = nodes[node["id"]]
        attrs = found["attrs"]
        assert found["name"] == node["name"]
        assert found["parents"] == [each for each in [node["ctrl_deps"]] if each != node["id"]]
        if "ts" in node:
            assert found["start"] == int(node["ts"])
            assert attrs["fd_dur_ns"] == ["int64_val", round(node["inclusive_dur"] * 1000)]
        assert [json.loads(text or "[]") for text in found["inputs"]] == [
            node["inputs"][key] for key in ("values", "shapes", "types")
        ]
        for attr in node["attrs"]:
            if attr["type"] in ("uint64", "int64"):
                assert attrs[attr["name"]] == ["int64_val", attr["value"]]
        assert attrs["is_cpu_op"] == ["bool_val", "cat" not in node]
        assert all(each < node["id"] for each in found["deps"])
        assert len(attrs.get("fd_edges", [None, []])[1]) == len(found["deps"])
    kernels = [node for node in nodes.values() if "nccl" in node["name"]]
    assert [node["type"] for node in kernels] == [7, 7]
    assert kernels[0]["attrs"]["comm_type"] == ["int64_val", 0]
    assert kernels[0]["attrs"]["comm_size"] == ["int64_val", 8192]


def test_our_dependencies_contain_the_converters(files: Files) -> None:
    ours, theirs = decode(files.chakra), decode(files.public)
    # It deletes nodes without dependencies: the root of the process.
    assert set(ours) - set(theirs) == {1}
    for number, node in theirs.items():
        assert set(node["deps"]) <= set(ours[number]["deps"])
        assert set(node["parents"]) <= set(ours[number]["parents"])
        assert node["type"] == ours[number]["type"]
        assert abs(node["duration"] - ours[number]["duration"]) <= 1
    # What it lacks: start times, kernels after kernels, threads after kernels.
    assert not any(node["start"] for node in theirs.values())
    edges = et_info(files.chakra)["edges"]
    assert edges["stream"] == OPERATORS - 1
    assert edges["sync"] == 1
    assert sum(node["start"] > 0 for node in ours.values()) == len(ours) - 1 + (ours[1]["start"] > 0)


def test_the_public_linker_agrees_on_pairs(files: Files, tmp_path: Path) -> None:
    output = tmp_path / "theirs.json"
    theirs = linked(files.et, files.kineto, output)
    ours = json.loads(files.linked.read_text())["nodes"]
    assert sorted(node["name"] for node in theirs) == sorted(node["name"] for node in ours)

    def times(nodes: list[Node]) -> list[tuple[Any, ...]]:
        return sorted((node["name"], node["ts"], node["inclusive_dur"]) for node in nodes if "cat" in node)

    assert times(theirs) == times(ours)
    # Theirs converts with us, ours with them: the same dependencies and more.
    et_convert(output, tmp_path / "a.et")
    assert et_info(tmp_path / "a.et")["edges"]["launch"] == OPERATORS


@pytest.mark.parametrize("schema", ["1.0.1-chakra.0.0.4", "1.0.4-chakra.0.0.4"])
def test_traces_that_the_converter_rejects(schema: str, files: Files, tmp_path: Path) -> None:
    text = files.et.read_text().replace("1.1.1-chakra.0.0.4", schema)
    source = tmp_path / "et.json"
    source.write_text(text)
    command = [str(TOOLS / "chakra_converter"), "PyTorch", "--input", str(source), "--output", str(tmp_path / "p.et")]
    assert subprocess.run(command, capture_output=True, cwd=tmp_path, check=False).returncode != 0
    assert et_convert(source, tmp_path / "a.et")["nodes"] == et_info(files.et)["nodes"]


def test_without_profiler_step(tmp_path: Path) -> None:
    """A pair on which the public linker stops with a TypeError."""
    et, kineto = write_pair(tmp_path, 40)
    events = json.loads(kineto.read_text())
    events["traceEvents"] = [event for event in events["traceEvents"] if "ProfilerStep" not in event["name"]]
    kineto.write_text(json.dumps(events))
    made = et_link(et, kineto, tmp_path / "a.et")
    assert (made["gpu"], made["link"]["linked"], made["link"]["only_et"]) == (40, 40, 2)
