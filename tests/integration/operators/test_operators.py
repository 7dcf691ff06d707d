"""Operators of both back ends against the stack recorder, and against each other."""

from collections import Counter
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest

import fastdispatch
from tests import commands, traces
from tests.oracle.differences import DISPATCH_ONLY, RECORD_ONLY, is_composite
from tests.oracle.recorded import Recorded
from tests.oracle.stacks import StackRecorder
from tests.training import make_step


def work(step, count: int = 3) -> None:
    for _ in range(count):
        step()


def record(step, ops: str) -> fastdispatch.Trace:
    return traces.recorded(lambda: work(step), ops=ops, keep="*")


@pytest.fixture(scope="module")
def oracle() -> StackRecorder:
    _, step = make_step()
    step()
    recorder = StackRecorder(work)
    with recorder:
        work(step)
    return recorder


def test_doctor_names_the_layout_of_records(tmp_path: Path) -> None:
    checks = {each["id"]: each for each in commands.document("doctor", tmp_path)["checks"]}
    assert checks["operators"]["status"] == "ok"
    assert "record (self-test passed: " in checks["operators"]["text"]


def test_dispatch_equals_the_stack_recorder(oracle: StackRecorder) -> None:
    _, step = make_step()
    step()
    recorded = Recorded(record(step, "dispatch"), "work")
    assert recorded.edges_to_operators() == oracle.edges()
    assert recorded.operators() == oracle.operators


def leave_out(counts: Counter[tuple[str, str]], names: Iterable[str]) -> Counter[tuple[str, str]]:
    return Counter({key: n for key, n in counts.items() if key[1] not in names})


def test_back_ends_agree_except_for_documented_differences() -> None:
    _, step = make_step()
    step()
    dispatch = Recorded(record(step, "dispatch"), "work").operators()
    dispatched = Recorded(record(step, "record"), "work").dispatched(cache(is_composite))
    named = {*DISPATCH_ONLY, *RECORD_ONLY}
    assert leave_out(dispatched, named) == leave_out(dispatch, named)
    assert {name for _, name in dispatch - dispatched} == DISPATCH_ONLY.keys()
    assert {name for _, name in dispatched - dispatch} == RECORD_ONLY.keys()


def test_record_has_the_edges_of_the_stack_recorder(oracle: StackRecorder) -> None:
    """Every edge on a path that ends in an operator both can see; and further edges end in operators that PyTorch
    takes apart without a trace (a ``.to()`` that changes nothing)."""
    _, step = make_step()
    step()
    recorded = Recorded(record(step, "record"), "work")
    assert oracle.edges(leave_out=DISPATCH_ONLY) <= recorded.edges_to_operators()
    visible = recorded.edges_to_operators(lambda name: name not in RECORD_ONLY and not is_composite(name))
    assert visible <= oracle.edges()


def test_both_back_ends_draw_the_same_python_graph() -> None:
    _, step = make_step()
    step()
    graphs = []
    for ops in ("record", "dispatch"):
        with fastdispatch.CallGraph(None, ops=ops) as graph:
            work(step)
        trace = fastdispatch.Trace(graph._session.trace())
        keys = trace.table("function")["where"]
        edges = zip(*(trace.graph("function")[name] for name in ("caller", "callee", "calls")), strict=True)
        graphs.append({(keys[a], keys[b]): calls for a, b, calls in edges if a >= 0})
    assert graphs[0] == graphs[1]
