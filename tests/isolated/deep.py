"""Deep recursion and small stacks under the recorder. No PyTorch.

Usage: deep.py CALLS CASE   Prints one JSON object.
"""

import json
import resource
import sys
import threading
import time
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


def greenlets_after(dive: int, inside: Callable[[Callable[[], None]], None]) -> list[object]:
    """Use greenlets, which are imported after the thread has had a further stack."""
    seen: list[object] = []

    def work() -> None:
        seen.append(down(dive))
        import greenlet

        def body(depth: int) -> int:
            if depth == 0:
                greenlet.getcurrent().parent.switch("inner")
                return 0
            return 1 + body(depth - 1)

        for depth in (5, dive):
            one = greenlet.greenlet(lambda depth=depth: body(depth))
            seen.extend([one.switch(), one.switch()])

    with fastdispatch.CallGraph(None, ops="off", calls=calls):
        inside(work)
    return seen


def in_a_small_thread(work: Callable[[], None]) -> None:
    threading.stack_size(128 << 10)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


def greenlets_of_a_thread() -> dict[str, Any]:
    return {"seen": greenlets_after(400, in_a_small_thread)}


def greenlets_of_the_main_thread() -> dict[str, Any]:
    return {"seen": greenlets_after(DEPTH, lambda work: work())}


def a_thread_without_a_further_stack() -> dict[str, Any]:
    """While greenlet is imported, a deep thread leaves all others without a hook, for a time that is counted."""
    import greenlet  # noqa: F401

    threading.stack_size(128 << 10)
    go, stop = threading.Event(), threading.Event()

    def other() -> None:
        go.wait()
        for _ in range(1000):
            leaf()
        time.sleep(0.05)
        stop.set()

    def dive(depth: int) -> int:
        if depth == 0:
            go.set()
            stop.wait()
            return 0
        return 1 + dive(depth - 1)

    with fastdispatch.CallGraph(None, ops="off", calls=calls) as graph:
        threads = [threading.Thread(target=other), threading.Thread(target=dive, args=(400,))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        leaf()
    found, counters = counts(graph, "leaf")
    return {"leaf": found, "unhooked_ms": counters.get("unhooked_ns", 0) // 10**6}


def a_window_without_a_further_stack() -> dict[str, Any]:
    """Windows begin and end while a deep call has no hook; afterwards all calls are recorded."""
    import greenlet  # noqa: F401

    def dive(depth: int) -> int:
        if depth == 0:
            for _ in range(4):
                graph.step()
            return 0
        return 1 + dive(depth - 1)

    with fastdispatch.CallGraph(None, ops="off", calls=calls, schedule=lambda step: 2 * (step % 2 == 0)) as graph:
        dive(DEPTH)
        for _ in range(10):
            leaf()
    return {"leaf": counts(graph, "leaf")[0]}


def a_lowered_limit() -> dict[str, Any]:
    """The program lowers the limit of its C stack, then makes a deep recursion."""
    with fastdispatch.CallGraph(None, ops="off", calls=calls) as graph:
        leaf()
        resource.setrlimit(resource.RLIMIT_STACK, (512 << 10, resource.getrlimit(resource.RLIMIT_STACK)[1]))
        result = down(DEPTH)
    return {"result": result, "calls": counts(graph, "down")[0]}


print(json.dumps(globals()[case]()))
