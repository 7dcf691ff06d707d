"""Edges of windows while another user of PEP 523 has set the evaluator. No PyTorch.

Usage: evaluators.py LIBRARY FOLDER   Prints one JSON object with the counts of each case.
"""

import ctypes
import json
import sys
from collections.abc import Callable
from pathlib import Path

import fastdispatch

library, folder = sys.argv[1:]
other = ctypes.PyDLL(library)
DEPTH = 30


def leaf(depth: int) -> int:
    return depth if depth == 0 else leaf(depth - 1)


def work() -> None:
    for _ in range(10):
        leaf(DEPTH)


def calls(graph: fastdispatch.CallGraph) -> int:
    """Recorded calls of leaf."""
    trace = fastdispatch.Trace(graph._session.trace())
    nodes, contexts = trace.nodes, trace.contexts
    named = {row for row, name in enumerate(nodes["name"]) if name == "leaf"}
    pairs = zip(contexts["node"], contexts["calls"], strict=True)
    return sum(count for node, count in pairs if node in named)


def schedule_inside() -> int:
    with fastdispatch.CallGraph(None, calls="frame", ops="off", schedule=lambda step: 2 * (step % 2)) as graph:
        other.standin_push()
        for _ in range(6):
            work()
            graph.step()
        work()
        other.standin_pop()
        work()
    return calls(graph)


def pushed_before() -> int:
    other.standin_push()
    with fastdispatch.CallGraph(None, calls="frame", ops="off", schedule=lambda step: 2 * (step % 2)) as graph:
        for _ in range(6):
            work()
            graph.step()
    other.standin_pop()
    return calls(graph)


def pushed_around_each_step() -> int:
    """Like Dynamo: in front within a region, then removed."""
    with fastdispatch.CallGraph(None, calls="frame", ops="off", schedule=lambda step: 2 * (step % 2)) as graph:
        for _ in range(6):
            other.standin_push()
            work()
            graph.step()
            other.standin_pop()
    return calls(graph)


def started_inside_a_region() -> int:
    """The recording begins while the other one is in front; the region ends, others follow."""
    other.standin_push()
    graph = fastdispatch.CallGraph(None, calls="frame", ops="off", schedule=lambda step: 2 * (step % 2))
    graph.start()
    other.standin_pop()
    for _ in range(6):
        other.standin_push()
        work()
        graph.step()
        other.standin_pop()
    graph.stop()
    other.standin_pop()
    return calls(graph)


def stopped_inside_a_region() -> int:
    total = 0
    for _ in range(3):
        graph = fastdispatch.CallGraph(None, calls="frame", ops="off")
        graph.start()
        other.standin_push()
        work()
        graph.stop()
        work()
        other.standin_pop()
        work()  # finds the recorder's in front, which is then removed
        total += calls(graph)
    return total


def switched_off_from_outside() -> int:
    with fastdispatch.CallGraph(Path(folder) / "off", calls="frame", ops="off") as graph:
        switch = Path(f"{graph.path}.off")
        other.standin_push()
        work()
        switch.touch()
        graph.step()
        work()
        switch.unlink()
        graph.step()
        work()
        other.standin_pop()
    return calls(graph)


def ranges_of_iterations() -> int:
    with fastdispatch.CallGraph(None, calls="frame", ops="off") as graph:
        graph._ambient = True
        other.standin_push()
        for number in range(6):
            with fastdispatch.job_schedule_profiler_range(number, 2, 4, exit_after_prof=False):
                work()
        other.standin_pop()
    return calls(graph)


def deep_without_a_further_stack() -> int:
    """A window begins while no hook runs, because a call is too deep in the C stack: both evaluators come back."""
    sys.modules["greenlet"] = sys  # no further C stacks
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(10**6)

    def dive(depth: int) -> None:
        if depth > 0:
            return dive(depth - 1)
        graph.step()
        return None

    other.standin_push()
    with fastdispatch.CallGraph(None, calls="frame", ops="off", schedule=lambda step: 2 * (step % 2)) as graph:
        dive(60_000)
        before = other.standin_frames()
        work()
        seen = other.standin_frames() - before
    del sys.modules["greenlet"]
    sys.setrecursionlimit(limit)
    other.standin_pop()
    return calls(graph) if seen >= 310 else -seen


CASES: list[Callable[[], int]] = [
    schedule_inside,
    pushed_before,
    pushed_around_each_step,
    started_inside_a_region,
    stopped_inside_a_region,
    switched_off_from_outside,
    ranges_of_iterations,
]
if sys.version_info < (3, 12):  # later ones limit the recursion of C code, which the other evaluator is
    CASES.append(deep_without_a_further_stack)

printed = {}
for case in CASES:
    counted = case()
    work()
    printed[case.__name__] = {"calls": counted, "top": other.standin_top()}
    other.standin_pop()
printed["frames"] = other.standin_frames()
print(json.dumps(printed))
