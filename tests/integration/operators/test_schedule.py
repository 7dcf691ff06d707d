"""Schedules have the meaning of PyTorch's, and torch.profiler works beside the recorder."""

import itertools
import warnings
from collections import Counter
from typing import Any

import pytest
import torch
from torch.profiler import ProfilerActivity, profile, record_function

import fastdispatch
from tests.training import make_step

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
