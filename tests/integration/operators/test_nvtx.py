"""torch.cuda.nvtx ranges are ranges of the recording, with a library or a stand-in; without one it raises as before."""

import itertools
import threading
import types
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
from torch.cuda import nvtx

import fastdispatch
from tests import traces


class StandIn(types.ModuleType):
    """A stand-in for torch._C._nvtx of a build with CUDA, and its calls."""

    def __init__(self) -> None:
        super().__init__("torch._C._nvtx")
        self.calls: list[tuple[Any, ...]] = []
        self.depth = 0
        self.ids = itertools.count(2**32)

    def rangePushA(self, message: str) -> int:
        self.calls.append(("push", message))
        self.depth += 1
        return self.depth - 1

    def rangePop(self) -> int:
        self.calls.append(("pop",))
        self.depth -= 1
        return self.depth

    def rangeStartA(self, message: str) -> int:
        number = next(self.ids)
        self.calls.append(("start", message, number))
        return number

    def rangeEnd(self, number: int) -> None:
        self.calls.append(("end", number))


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> StandIn:
    stand_in = StandIn()
    monkeypatch.setattr(nvtx, "_nvtx", stand_in)
    return stand_in


def leaf() -> None:
    pass


def middle() -> None:
    leaf()


record = partial(traces.recorded, ops="off", timeline=True)


def paths(trace: fastdispatch.Trace) -> dict[str, int]:
    """Calls by ranges and functions of this file on their path, without other functions."""
    names = [trace.nodes["name"][node] for node in trace.contexts["node"]]
    kinds = [trace.nodes["kind"][node] for node in trace.contexts["node"]]
    parents = trace.contexts["parent"]
    found: dict[str, int] = {}
    for row, calls in enumerate(trace.contexts["calls"]):
        path, at = [], row
        while at >= 0:
            if kinds[at] == "range" or names[at] in ("work", "middle", "leaf"):
                path.append(names[at])
            at = parents[at]
        if calls and (kinds[row] == "range" or names[row] in ("middle", "leaf")):
            key = " > ".join(reversed(path))
            found[key] = found.get(key, 0) + calls
    return found


def test_push_and_pop_and_range_and_its_decorator(library: StandIn) -> None:
    @nvtx.range("decorated")
    def decorated() -> None:
        leaf()

    def work() -> None:
        nvtx.range_push("outer")
        nvtx.range_push("between")
        nvtx.range_pop()
        middle()
        with nvtx.range("inside {}", 7):
            leaf()
        nvtx.range_pop()
        decorated()
        leaf()

    trace = record(work)
    assert paths(trace) == {
        "work > outer": 1,
        "work > outer > between": 1,
        "work > outer > middle": 1,
        "work > outer > middle > leaf": 1,
        "work > outer > inside 7": 1,
        "work > outer > inside 7 > leaf": 1,
        "work > decorated": 1,
        "work > decorated > leaf": 1,
        "work > leaf": 1,
    }
    assert [call[0] for call in library.calls] == ["push", "push", "pop", "push", "pop", "pop", "push", "pop"]
    assert nvtx.range_push.__module__ == "torch.cuda.nvtx"  # nothing is replaced


def test_start_and_end_may_be_on_two_threads(library: StandIn) -> None:
    def work() -> None:
        first, second = nvtx.range_start("first"), nvtx.range_start("second")
        ends = threading.Thread(target=nvtx.range_end, args=(first,))
        ends.start()
        ends.join()
        leaf()
        nvtx.range_end(second)
        nvtx.range_end(12345)  # unknown

    trace = record(work)
    calls = traces.calls(trace)
    times = dict(zip((trace.nodes["name"][n] for n in trace.contexts["node"]), trace.contexts["async"], strict=True))
    assert (calls["first"], calls["second"]) == (1, 1)
    assert 0 < times["first"] < times["second"]
    assert trace.ranks[0]["counters"]["async_lost"] == 0
    assert b'"ph":"b"' in trace.export("chrome")


def test_unbalanced_ranges(library: StandIn) -> None:
    def work() -> None:
        nvtx.range_pop()
        nvtx.range_push("left open")
        leaf()

    assert paths(record(work)) == {"work > left open": 1, "work > left open > leaf": 1}


def test_without_the_library_it_raises_as_ever() -> None:
    def raised(call: Callable[[], object]) -> str:
        with pytest.raises(Exception) as error:
            call()
        return repr(error.value)

    def with_range() -> None:
        with nvtx.range("x"):
            pass

    def emit() -> None:
        with torch.autograd.profiler.emit_nvtx():
            raise LookupError

    calls: list[Callable[[], object]] = [
        lambda: nvtx.range_push("x"),
        nvtx.range_pop,
        lambda: nvtx.range_start("x"),
        lambda: nvtx.range_end(1),
        with_range,
        emit,
    ]
    plain = [raised(call) for call in calls]
    recorded: list[str] = []
    trace = record(lambda: recorded.extend(raised(call) for call in calls))
    assert recorded == plain
    assert "range" not in trace.nodes["kind"]


def test_a_window_that_begins_within_a_range(library: StandIn) -> None:
    with fastdispatch.CallGraph(None, ops="off", steps="1:2") as graph:
        for name in "ab":
            nvtx.range_push(name)
            graph.step()
            leaf()
            nvtx.range_pop()
    trace = fastdispatch.Trace(graph._session.trace())
    assert paths(trace) == {"leaf": 1, "b": 1}
