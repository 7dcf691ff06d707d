"""torch.compile: compilations, recompilations and graph breaks as facts of a recording."""

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

import fastdispatch
from fastdispatch.read.compilations import fused_operators
from tests import commands, processes

pytestmark = pytest.mark.torch


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("compiled")
    processes.run_warm("compiling.py", made, imports=processes.COMPILER)
    return made


def fact(folder: Path, name: str) -> dict[str, Any]:
    return fastdispatch.load(folder / name).meta["compile"]


def line_of(text: str, program: str = "compiling.py") -> int:
    lines = (processes.ISOLATED / program).read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


def test_each_recording_has_its_own_compilations(folder: Path) -> None:
    assert [each["function"] for each in fact(folder, "before")["functions"]] == ["earlier"]
    assert "earlier" not in [each["function"] for each in fact(folder, "during")["functions"]]
    assert "compile" not in fastdispatch.load(folder / "after").meta


def test_compilations_have_a_location_and_a_time(folder: Path) -> None:
    found = fact(folder, "during")
    functions = {each["function"]: each for each in found["functions"]}
    assert functions["compiled"]["compilations"] == 3  # another size, another number of dimensions
    assert functions["compiled"]["file"].endswith("tests/isolated/compiling.py")
    assert found["compilations"] == found["listed"] == sum(each["compilations"] for each in found["functions"])
    assert found["ns"] == sum(each["ns"] for each in found["functions"]) > 0


def test_recompilations_name_the_guard(folder: Path) -> None:
    guards = [each["guard"] for each in fact(folder, "during")["recompilations"] if each["function"] == "compiled"]
    assert len(guards) == 2
    assert any("size mismatch at index 0. expected 2, actual 3" in guard for guard in guards)
    assert any("rank mismatch" in guard for guard in guards)


def test_graph_breaks_name_the_line_of_the_program(folder: Path) -> None:
    breaks = fact(folder, "during")["graph_breaks"]
    (found,) = [each for each in breaks if each["function"] == "inner"]
    assert (found["line"], found["file"].endswith("compiling.py")) == (line_of("graph_break()"), True)
    assert found["count"] >= 3 and "graph_break" in found["reason"]


def test_the_report_shows_them(folder: Path) -> None:
    flat = " ".join(commands.out("report", folder / "during").split())
    assert "torch.compile on rank 0: " in flat and " recompilations, " in flat
    assert f"inner (compiling.py:{line_of('graph_break()')})" in flat
    assert commands.document("report", folder / "during")["compiler"] == [{"rank": 0} | fact(folder, "during")]
    assert commands.document("report", folder / "after")["compiler"] == []


def test_a_malformed_fact_is_ignored(folder: Path, tmp_path: Path) -> None:
    fastdispatch.load(folder / "during").dump(tmp_path / "dump.json")
    document = json.loads((tmp_path / "dump.json").read_text())
    for value in ([], {}, {"ns": 1}, {"functions": 3}, "text"):
        document["ranks"][0]["meta"]["compile"] = value
        (tmp_path / "dump.json").write_text(json.dumps(document))
        assert commands.document("report", tmp_path / "dump.json")["compiler"] == []


@pytest.mark.skipif(shutil.which("g++") is None, reason="Inductor needs a C++ compiler")
def test_kernels_of_inductor_have_lines_of_the_program(tmp_path: Path) -> None:
    program = "compiled_sources.py"
    processes.run(program, tmp_path / "run", tmp_path / "cache")
    found = {
        fact["kernel"]: [(line["function"], line["line"]) for line in fact["lines"]]
        for fact in fastdispatch.load(tmp_path / "run").meta["kernel_sources"]
    }
    relu, add, total = (line_of(text, program) for text in ("x.relu()", "y + 1", ".sum()"))
    forward = [("activation", relu), ("activation", add), ("forward", total)]
    assert found.pop("cpp_fused_add_relu_sum_threshold_backward_0") == forward
    ((backward, lines),) = found.items()
    assert "threshold_backward" in fused_operators(backward) and ("activation", relu) in lines


@pytest.mark.parametrize("calls", ["frame", "monitor"] if sys.version_info >= (3, 12) else ["frame"])
def test_dynamo_traces_no_callback_of_the_recorder(calls: str) -> None:
    plain, recorded = (
        processes.run_warm("compiled_callbacks.py", each, imports=processes.COMPILER) for each in ("plain", calls)
    )
    assert recorded == plain
