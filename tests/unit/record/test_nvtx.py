"""NVTX ranges without PyTorch: functions with the names of torch.cuda.nvtx, through either hook."""

import importlib.util
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import fastdispatch
from tests import programs
from tests.traces import SOURCES

MODULE = """
def refuse(on):
    if not on:
        raise RuntimeError("NVTX functions not installed")

def range_push(msg, on=True):
    refuse(on)
    return 0

def range_pop(on=True):
    refuse(on)
    return 0

def range_start(msg, on=True):
    refuse(on)
    return 7

def range_end(range_id, on=True):
    refuse(on)
"""


@pytest.fixture
def nvtx(tmp_path: Path) -> Any:
    path = tmp_path / "torch" / "cuda" / "nvtx.py"
    path.parent.mkdir(parents=True)
    path.write_text(MODULE)
    spec = importlib.util.spec_from_file_location("stand_in", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def calls(work: Callable[[], object], source: str) -> dict[str, int]:
    with fastdispatch.CallGraph(None, ops="off", calls=source) as graph:
        work()
    trace = fastdispatch.Trace(graph._session.trace())
    names = [trace.nodes["name"][node] for node in trace.contexts["node"]]
    contexts = trace.contexts
    return {
        f"{names[parent]} > {names[row]}": contexts["calls"][row]
        for row, parent in enumerate(contexts["parent"])
        if parent >= 0 and names[parent] != "main" and contexts["calls"][row]
    }


@pytest.mark.parametrize("source", SOURCES)
def test_ranges_are_callers_of_the_calls_inside(nvtx: Any, source: str) -> None:
    def work() -> None:
        nvtx.range_push("outer")
        for _ in range(3):
            nvtx.range_push("inner")
            programs.leaf(1)
            nvtx.range_pop()
        nvtx.range_pop()
        nvtx.range_end(nvtx.range_start("loose"))
        programs.leaf(2)

    found = calls(work, source)
    assert found["work > outer"] == 1
    assert found["outer > inner"] == found["inner > leaf"] == 3
    assert found["work > loose"] == found["work > leaf"] == 1


@pytest.mark.parametrize("source", SOURCES)
def test_a_failed_push_begins_no_range(nvtx: Any, source: str) -> None:
    def work() -> None:
        with suppress(RuntimeError):
            nvtx.range_push("never", False)
        with suppress(RuntimeError):
            nvtx.range_start("never", on=False)
        nvtx.range_push("outer")
        with suppress(RuntimeError):
            nvtx.range_pop(False)
        programs.leaf(1)
        nvtx.range_push(3)

    found = calls(work, source)
    assert found["outer > leaf"] == 1
    assert not [path for path in found if "never" in path]
