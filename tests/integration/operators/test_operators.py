"""Operators of both back ends against the stack recorder, and against each other."""

import itertools
import warnings
from collections import Counter
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.profiler import ProfilerActivity, profile, record_function

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


# -- schedules have the meaning of PyTorch's ---------------------------------------------------------------------------


NAMES = ("wait", "warmup", "active", "repeat", "skip_first", "skip_first_wait")


def test_every_schedule_is_that_of_pytorch() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for numbers in itertools.product(range(4), range(3), range(1, 4), range(3), (0, 1, 5), (0, 1)):
            options = dict(zip(NAMES, numbers, strict=True))
            ours, theirs = fastdispatch.schedule(**options), torch.profiler.schedule(**options)
            assert [ours(step) for step in range(40)] == [theirs(step).value for step in range(40)], options


def counts(rows: Any) -> Counter[str]:
    found: Counter[str] = Counter()
    for name, count in rows:
        found[name] += count if name.startswith(("aten::", "mark ")) else 0
    return +found


def recorded(graph: fastdispatch.CallGraph) -> Counter[str]:
    """Omit operators directly below one of the same name: torch.profiler omits some of them."""
    assert graph._session is not None
    trace = fastdispatch.Trace(graph._session.trace())
    node, parent, calls = (trace.contexts[name] for name in ("node", "parent", "calls"))
    kinds, names = trace.nodes["kind"], trace.nodes["name"]
    own = (i for i, above in enumerate(parent) if above < 0 or node[above] != node[i])
    return counts((names[node[i]], calls[i]) for i in own if kinds[node[i]] in ("op", "range"))


@pytest.mark.parametrize("theirs", (True, False), ids=("schedule of torch", "own schedule"))
@pytest.mark.parametrize("inside", (True, False), ids=("inside the profiler", "around the profiler"))
def test_torch_profiler_in_parallel_has_the_same_operators(inside: bool, theirs: bool) -> None:
    options = {"wait": 1, "warmup": 1, "active": 2, "repeat": 2}
    _, step = make_step(layers=1)
    step()
    ready: list[int] = []
    seen: Counter[str] = Counter()

    def collect(profiler: Any) -> None:
        own = (event for event in profiler.events() if event.cpu_parent is None or event.cpu_parent.name != event.name)
        seen.update(counts((event.name, 1) for event in own))

    graph = fastdispatch.CallGraph(
        None,
        ops="record",
        timeline=True,
        schedule=torch.profiler.schedule(**options) if theirs else fastdispatch.schedule(**options),
        on_trace_ready=lambda graph: ready.append(graph.stats()["steps"]),
    )
    profiler = profile(
        activities=[ProfilerActivity.CPU], schedule=torch.profiler.schedule(**options), on_trace_ready=collect
    )
    first, second = (profiler, graph) if inside else (graph, profiler)
    with first, second:
        for number in range(9):
            with record_function(f"mark {number}"):
                step()
            profiler.step()
            graph.step()
    assert ready == [2, 4]
    assert recorded(graph) == seen
    assert {name for name in seen if name.startswith("mark")} == {f"mark {number}" for number in (2, 3, 6, 7)}
    assert sum(seen.values()) > 100
