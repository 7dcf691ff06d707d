"""Other users of PEP 523 beside the recorder: every frame is recorded once, no chain of evaluators becomes a cycle."""

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from greenlet import greenlet

import fastdispatch
from tests import processes, standin, traces
from tests.programs import leaf

LEAVES = 310  # calls of leaf() in one work()


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    if shutil.which("cc") is None:
        pytest.skip("needs a C compiler for the stand-in")
    folder = tmp_path_factory.mktemp("evaluators")
    done = processes.run("evaluators.py", standin.build_evaluator(folder), folder)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


@pytest.mark.parametrize(
    ("case", "works"),
    [
        ("schedule_inside", 3),
        ("pushed_before", 3),
        ("pushed_around_each_step", 3),
        ("started_inside_a_region", 3),
        ("stopped_inside_a_region", 3),
        ("switched_off_from_outside", 2),
        ("ranges_of_iterations", 2),
        *([("deep_without_a_further_stack", 1)] if sys.version_info < (3, 12) else []),
    ],
)
def test_window_edges_under_another_evaluator(printed: dict[str, Any], case: str, works: int) -> None:
    assert printed[case]["calls"] == works * LEAVES


def test_nothing_is_left_in_front(printed: dict[str, Any]) -> None:
    cases = {name: found["top"] for name, found in printed.items() if name != "frames"}
    # In two cases the other tool was installed first; the previous evaluator is restored.
    assert {name: top for name, top in cases.items() if top == 2} == {}


def test_the_other_evaluator_sees_its_frames(printed: dict[str, Any]) -> None:
    assert printed["frames"] > 20 * LEAVES


def compiled(folder: Path, ops: str, edge: str) -> dict[str, Any]:
    folder.mkdir(exist_ok=True)
    printed = processes.run_warm("compiled_edges.py", folder, ops, edge, imports=processes.COMPILER)
    result: dict[str, Any] = json.loads(printed)
    return result


@pytest.fixture(scope="module")
def unrecorded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return compiled(tmp_path_factory.mktemp("unrecorded"), "off", "none")


@pytest.mark.torch
@pytest.mark.parametrize("ops", ["record", "dispatch"])
@pytest.mark.parametrize("edge", ["schedule", "optimizer", "switch", "ranges", "restart", "gpu"])
def test_window_edges_inside_compiled_steps(unrecorded: dict[str, Any], tmp_path: Path, ops: str, edge: str) -> None:
    found = compiled(tmp_path, ops, edge)
    assert found.pop("recorded")
    assert unrecorded["runs"] > 0
    assert found == {key: value for key, value in unrecorded.items() if key != "recorded"}


# -- greenlets remove the C stack with all its hooks -------------------------------------------------------------------


def test_calls_of_greenlets_have_their_own_callers() -> None:
    def producer(count: int) -> None:
        for i in range(count):
            leaf(i)
            second.switch(i)

    def consumer(value: int) -> None:
        while True:
            leaf(value)
            value = deeper(value)

    def deeper(value: int) -> int:
        leaf(value)
        return first.switch(value)

    with fastdispatch.CallGraph(None, ops="off", keep="*") as graph:
        first, second = greenlet(producer), greenlet(consumer)
        first.switch(50)
    trace = fastdispatch.Trace(graph._session.trace())
    edges = traces.edges(trace)
    expected = {("producer", "leaf"), ("consumer", "leaf"), ("consumer", "deeper"), ("deeper", "leaf")}
    assert {edge: edges[edge] for edge in expected} == dict.fromkeys(expected, 50)
    assert not {edge for edge in edges if edge[0] in ("producer", "consumer", "deeper")} - expected
