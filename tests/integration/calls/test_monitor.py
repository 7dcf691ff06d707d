"""sys.monitoring beside other tools."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

import fastdispatch
from tests import traces
from tests.programs import leaf

pytestmark = pytest.mark.skipif(sys.version_info < (3, 12), reason="sys.monitoring is of Python 3.12 and later")


@contextmanager
def free_ids_taken() -> Iterator[list[int]]:
    taken = [tool for tool in range(6) if sys.monitoring.get_tool(tool) is None]
    for tool in taken:
        sys.monitoring.use_tool_id(tool, f"tool {tool}")
    yield taken
    for tool in taken:
        sys.monitoring.free_tool_id(tool)


def leaves(graph: fastdispatch.CallGraph) -> int:
    return traces.calls(graph.trace)["leaf"]


def work(graph: fastdispatch.CallGraph) -> int:
    with graph:
        for i in range(10):
            leaf(i)
    return leaves(graph)


def test_monitoring_without_a_tool_id_names_the_owners() -> None:
    with free_ids_taken(), pytest.raises(fastdispatch.Error) as error:
        fastdispatch.CallGraph(None, calls="monitor", ops="off").start()
    assert str(error.value) == (
        "calls='monitor': no tool id of sys.monitoring is free (5: tool 5, 4: tool 4, 3: tool 3, 2: tool 2):"
        " end one of these tools, or use calls='frame'"
    )
    assert fastdispatch.record.callgraph.current() is None
    assert work(fastdispatch.CallGraph(None, calls="monitor", ops="off")) == 10


def test_auto_without_a_tool_id_uses_and_reports_the_evaluator_hook() -> None:
    with free_ids_taken():
        graph = fastdispatch.CallGraph(None, calls="auto", ops="off")
        assert work(graph) == 10
    assert fastdispatch.Trace(graph._session.trace()).meta["options"]["calls"] == "frame"


def test_a_pause_keeps_the_tool_id() -> None:
    """Other tools cannot acquire the id meanwhile, and no events are enabled during the pause."""
    with fastdispatch.CallGraph(None, calls="monitor", ops="off") as graph:
        leaf(0)
        graph.iterate(False, 1)
        with free_ids_taken() as taken:
            assert 5 not in taken and sys.monitoring.get_events(5) == 0
            leaf(0)
            graph.iterate(True, 2)
            leaf(0)
            leaf(0)
    assert leaves(graph) == 3
    assert sys.monitoring.get_tool(5) is None
    assert fastdispatch.Trace(graph._session.trace()).ranks[0]["counters"]["hook_lost"] == 0


def test_the_ids_are_free_after_a_start_that_failed_later() -> None:
    """Another recording runs: the second one claims nothing."""
    with fastdispatch.CallGraph(None, calls="frame", ops="off"):
        before = [sys.monitoring.get_tool(tool) for tool in range(6)]
        with pytest.raises(fastdispatch.Error, match="recording already"):
            fastdispatch.CallGraph(None, calls="monitor", ops="off").start()
        assert [sys.monitoring.get_tool(tool) for tool in range(6)] == before
