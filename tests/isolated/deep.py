"""Deep recursion and small stacks under the recorder. No PyTorch.

Usage: deep.py CALLS CASE   Prints one JSON object.
"""

import json
import sys
import threading
from collections.abc import Callable
from typing import Any

import fastdispatch

calls, case = sys.argv[1:]
DEPTH = 60_000
sys.setrecursionlimit(10**6)


def down(depth: int) -> int:
    return 0 if depth == 0 else 1 + down(depth - 1)


def leaf() -> None:
    pass


def through_c(depth: int) -> int:
    """Python calls with C frames of the interpreter between them."""
    return 0 if depth == 0 else 1 + max([depth], key=lambda _: through_c(depth - 1) if depth % 100 == 0 else 0)


def endless() -> None:
    endless()


def counts(graph: fastdispatch.CallGraph, name: str) -> tuple[int, dict[str, int]]:
    trace = fastdispatch.Trace(graph._session.trace())
    nodes, contexts = trace.nodes, trace.contexts
    named = {row for row, found in enumerate(nodes["name"]) if found == name}
    pairs = zip(contexts["node"], contexts["calls"], strict=True)
    counters = {key: value for key, value in trace.ranks[0]["counters"].items() if value}
    return sum(count for node, count in pairs if node in named), counters


def recorded() -> dict[str, Any]:
    with fastdispatch.CallGraph(None, ops="off", calls=calls) as graph:
        result = down(DEPTH)
    found, counters = counts(graph, "down")
    return {"result": result, "calls": found, "counters": counters}


def paused() -> dict[str, Any]:
    with fastdispatch.CallGraph(None, ops="off", calls=calls, schedule=lambda step: 0):
        result = down(DEPTH)
    return {"result": result}


def edges_in_the_deep() -> dict[str, Any]:
    """Windows begin and end in a deep recursion: the path is rebuilt there, in less than quadratic time."""

    def dive(depth: int) -> int:
        if depth == 0:
            for _ in range(10):
                graph.step()
                leaf()
            return 0
        return 1 + dive(depth - 1)

    with fastdispatch.CallGraph(None, ops="off", calls=calls, schedule=lambda step: 2 * (step % 2)) as graph:
        result = dive(20_000)
    return {"result": result, "calls": counts(graph, "leaf")[0]}


def beyond_the_stack_of_entries() -> dict[str, Any]:
    """More open calls than a thread's open stack can have."""
    with fastdispatch.CallGraph(None, ops="off", calls=calls) as graph:
        result = down(200_000)
    found, counters = counts(graph, "down")
    return {"result": result, "calls": found, "counted": counters.get("deep_stack", 0)}


def small_thread() -> dict[str, Any]:
    """A thread with a stack of 256 KiB runs while the main thread makes a thousand calls."""
    threading.stack_size(256 * 1024)
    go, done = threading.Event(), threading.Event()
    inner: list[int] = []

    def small() -> None:
        go.wait()
        inner.append(down(1000))
        done.set()

    with fastdispatch.CallGraph(None, ops="off", calls=calls) as graph:
        thread = threading.Thread(target=small)
        thread.start()
        go.set()
        for _ in range(1000):
            leaf()
        done.wait()
        thread.join()
    found, counters = counts(graph, "leaf")
    return {"leaf": found, "down": counts(graph, "down")[0], "inner": inner, "counters": counters}


def main_past_half() -> dict[str, Any]:
    """The main thread waits deep in a recursion while another thread makes a thousand calls."""

    def others() -> None:
        for _ in range(1000):
            leaf()

    def dive(depth: int) -> None:
        if depth == 0:
            thread = threading.Thread(target=others)
            thread.start()
            thread.join()
        else:
            dive(depth - 1)

    with fastdispatch.CallGraph(None, ops="off", calls=calls) as graph:
        dive(30_000)
    found, counters = counts(graph, "leaf")
    return {"leaf": found, "counters": counters}


def errors() -> dict[str, Any]:
    """RecursionError is raised at the same depth as without a recorder."""
    sys.setrecursionlimit(50_000)
    raised = 0
    with fastdispatch.CallGraph(None, ops="off", calls=calls) as graph:
        for _ in range(3):
            try:
                endless()
            except RecursionError:
                raised += 1
        leaf()
    return {"raised": raised, "leaf": counts(graph, "leaf")[0]}


def c_frames() -> dict[str, Any]:
    with fastdispatch.CallGraph(None, ops="off", calls=calls):
        return {"result": through_c(300)}


def limits_of_c_code() -> dict[str, Any]:
    """Objects die at once, and C code has its own limit of recursion, wherever the calls run."""

    class Dying:
        def __del__(self) -> None:
            events.append("died")

    def bottom(depth: int) -> None:
        if depth > 0:
            return bottom(depth - 1)
        [Dying()].clear()
        events.append("next")
        nested: list[object] = []
        for _ in range(100_000):
            nested = [nested]
        try:
            if sys.version_info >= (3, 12):  # earlier ones have one limit for Python and C
                repr(nested)
        except RecursionError:
            events.append("stopped")
        return None

    events: list[str] = []
    with fastdispatch.CallGraph(None, ops="off", calls=calls):
        bottom(DEPTH)
    return {"events": events}


CASES: dict[str, Callable[[], dict[str, Any]]] = {
    function.__name__: function
    for function in (
        recorded,
        paused,
        edges_in_the_deep,
        beyond_the_stack_of_entries,
        small_thread,
        main_past_half,
        errors,
        c_frames,
        limits_of_c_code,
    )
}
print(json.dumps(CASES[case]()))
