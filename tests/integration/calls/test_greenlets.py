"""Greenlets remove the C stack with all its hooks, and restore it later."""

from greenlet import greenlet

import fastdispatch
from tests import traces
from tests.programs import leaf


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
