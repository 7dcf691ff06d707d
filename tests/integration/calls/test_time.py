"""Times: self times add up to the elapsed time, also after a kill and for windows inside nested calls."""

import itertools
import random
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import fastdispatch
from tests import processes, programs, traces
from tests.oracle.recorded import Recorded

#: Maximum difference of two clocks over a second.
EXACT = 0.999


def check_times(trace: fastdispatch.Trace) -> None:
    """Self times of a thread equal its covered time within 0.5 %, and no time is negative."""
    assert min(trace.contexts["self"]) >= 0
    assert max(trace.contexts["self"]) < 10**12
    threads = trace.ranks[0]["threads"]
    for covered, own in zip(threads["covered"], threads["self"], strict=True):
        assert own == pytest.approx(covered, rel=0.005, abs=100_000)


def run_for(seconds: float, work: Callable[[], object]) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        work()


def test_self_times_add_up_to_the_wall_time() -> None:
    begin = time.monotonic_ns()
    with fastdispatch.CallGraph(None, ops="off") as graph:
        run_for(1.0, programs.classes)
        time.sleep(0.05)
        programs.threads()
    wall = time.monotonic_ns() - begin
    trace = fastdispatch.Trace(graph._session.trace())
    check_times(trace)
    main = trace.ranks[0]["threads"]["role"].index("main")
    assert 1_050_000_000 * EXACT <= trace.ranks[0]["threads"]["covered"][main] <= trace.ranks[0]["recorded"]
    assert trace.ranks[0]["recorded"] * EXACT <= wall


def test_a_sleep_is_charged_to_the_function_that_sleeps() -> None:
    def sleeper() -> None:
        time.sleep(0.2)

    with fastdispatch.CallGraph(None, ops="off") as graph:
        begin = time.monotonic_ns()
        sleeper()
        slept = time.monotonic_ns() - begin
    table = fastdispatch.Trace(graph._session.trace()).table("function")
    row = next(i for i, where in enumerate(table["where"]) if where.endswith(":sleeper"))
    assert 200_000_000 * EXACT <= table["self"][row] <= slept / EXACT


def test_counts_without_timing() -> None:
    counts = []
    for timing in (True, False):
        with fastdispatch.CallGraph(None, ops="off", timing=timing) as graph:
            programs.classes()
        trace = fastdispatch.Trace(graph._session.trace())
        assert (sum(trace.contexts["self"]) > 0) == timing
        counts.append(sum(trace.contexts["calls"]))
    assert counts[0] == counts[1] > 0


@pytest.mark.parametrize(("kind", "trials"), (("calls", 40), pytest.param("train", 10, marks=pytest.mark.torch)))
def test_a_killed_process_leaves_a_complete_recording(kind: str, trials: int, tmp_path: Path) -> None:
    seed = random.Random(kind)
    for trial in range(trials):
        imports = ("torch",) if kind == "train" else ()
        process = processes.start_warm(imports, "endless.py", tmp_path / str(trial), kind)
        assert process.stdout.readline() == "under way\n"
        time.sleep(seed.uniform(0, 0.05))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        trace = fastdispatch.load(tmp_path / str(trial))
        assert trace.ranks[0]["state"] == "killed"
        assert not trace.ranks[0]["notes"]
        check_times(trace)
        check_open_calls(trace, "train" if kind == "train" else "work")


def check_open_calls(trace: fastdispatch.Trace, innermost: str) -> None:
    """The open calls of each thread are one path of the tree, with ages that shrink inwards."""
    names = [trace.nodes["name"][node] for node in trace.contexts["node"]]
    opened = trace.ranks[0]["open"]
    for thread in set(opened["thread"]):
        rows = [row for row, owner in enumerate(opened["thread"]) if owner == thread]
        contexts = [opened["context"][row] for row in rows]
        ages = [opened["age"][row] for row in rows]
        assert ages == sorted(ages, reverse=True)
        assert innermost in [names[context] for context in contexts]
        for outer, inner in itertools.pairwise(contexts):
            assert outer == inner or outer in ancestors(trace, inner)


def ancestors(trace: fastdispatch.Trace, context: int) -> set[int]:
    found = set()
    while (context := trace.contexts["parent"][context]) >= 0:
        found.add(context)
    return found


def test_starting_and_stopping_inside_nested_calls_makes_no_false_edges() -> None:
    """Edges of short recordings, started and stopped at any depth, are edges of the program."""
    graphs: list[fastdispatch.CallGraph] = []
    calls = 0

    def toggle() -> None:
        nonlocal calls
        calls += 1
        if calls % 3 == 0:
            graphs.append(fastdispatch.CallGraph(None, ops="off", keep="*"))
            graphs[-1].start()
        elif calls % 3 == 2 and graphs:
            graphs[-1].stop()

    def inner(depth: int) -> None:
        toggle()
        if depth > 0:
            (inner if depth % 2 else outer)(depth - 1)
        toggle()

    def outer(depth: int) -> None:
        inner(depth)
        toggle()

    for depth in range(12):
        outer(depth)
    graphs[-1].stop()
    true_edges = {("outer", "inner"), ("inner", "inner"), ("inner", "outer"), ("inner", "toggle"), ("outer", "toggle")}
    for graph in graphs:
        trace = fastdispatch.Trace(graph._session.trace())
        check_times(trace)
        edges = traces.edges(trace)
        own = {edge for edge in edges if set(edge) <= {"outer", "inner", "toggle"}}
        assert own <= true_edges
    assert len(graphs) > 20


def test_stopping_from_another_thread_while_calls_are_open() -> None:
    inside = threading.Event()
    stopped = threading.Event()

    def wait() -> None:
        inside.set()
        stopped.wait(100)
        programs.leaf(1)

    graph = fastdispatch.CallGraph(None, ops="off", keep="*")
    graph.start()
    thread = threading.Thread(target=wait)
    thread.start()
    inside.wait(100)
    stopper = threading.Thread(target=graph.stop)
    stopper.start()
    stopper.join(100)
    stopped.set()
    thread.join(100)
    trace = fastdispatch.Trace(graph._session.trace())
    check_times(trace)
    assert trace.ranks[0]["state"] == "stopped"
    assert Recorded(trace, "wait").calls()["tests/programs.py:[]:leaf"] == 0
    assert "wait" in [trace.nodes["name"][trace.contexts["node"][c]] for c in trace.ranks[0]["open"]["context"]]
