"""Both sources of Python calls record the same."""

import contextlib
import sys
import threading
import warnings
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

import fastdispatch
from fastdispatch.read import live
from tests import programs, traces
from tests.programs import leaf

pytestmark = pytest.mark.skipif(sys.version_info < (3, 12), reason="sys.monitoring is of Python 3.12 and later")

Paths = Counter[tuple[str, ...]]


def record(source: str, work: Callable[[], object], **options: object) -> fastdispatch.Trace:
    return traces.recorded(work, **{"ops": "off", "keep": "*", "calls": source} | options)


#: A figure of all functions, by call path.
paths = partial(traces.paths, kind="python")


def split(trace: fastdispatch.Trace) -> tuple[Paths, Counter[str]]:
    """Calls of plain functions by path, and of generators and coroutines by function."""
    resumable = {path[-1] for path in +paths(trace, "resumes")}
    plain: Paths = Counter()
    sums: Counter[str] = Counter()
    for path, value in paths(trace, "calls").items():
        if path[-1] in resumable:
            sums[path[-1]] += value
        else:
            plain[path] = value
    return +plain, sums


@pytest.mark.parametrize("program", [*programs.PLAIN, programs.threads], ids=lambda program: program.__name__)
def test_the_same_tree(program: Callable[[], None], collector_off: None) -> None:
    """The evaluator counts the call of a generator at its creation, sys.monitoring at its start or its release."""
    program()
    frame, monitor = (record(source, program) for source in ("frame", "monitor"))
    assert paths(frame, "resumes") == paths(monitor, "resumes")
    assert split(frame) == split(monitor) and split(frame)[0].total() > 5
    assert frame.ranks[0]["counters"] == monitor.ranks[0]["counters"]


@pytest.mark.parametrize("timing", [True, False])
def test_the_same_live_stack(timing: bool, tmp_path: Path) -> None:
    """Read from the file in the middle of nested calls of methods, closures, generators and a thread."""

    seen: list[tuple[str, ...]] = []

    class Node:
        def walk(self, depth: int) -> None:
            if depth > 0:
                self.walk(depth - 1)
            else:
                next(self.deepest())

        def deepest(self) -> Iterator[None]:
            me = self

            def look() -> None:
                assert me is not None
                here = threading.current_thread().name.replace("MainThread", "main")
                seen.extend(stack.calls for stack in live.position(str(folder))[0] if stack.thread == here)

            yield look()

    stacks = []
    for source in ("frame", "monitor"):
        folder = tmp_path / source
        with fastdispatch.CallGraph(folder, ops="off", calls=source, timing=timing):
            for _ in range(3):
                Node().walk(2)
            thread = threading.Thread(target=Node().walk, args=(1,), name="walker")
            thread.start()
            thread.join()
        stacks.append(seen.copy())
        seen.clear()
    assert stacks[0] == stacks[1] and len(stacks[0]) == 4
    assert all(any(call.endswith(":[]:look") for call in calls) for calls in stacks[0])


def test_ranges_that_outlive_the_frames_they_began_in() -> None:
    class Part:
        def __enter__(self) -> None:
            self.begin()
            programs.leaf(1)

        def begin(self) -> None:
            self.part = fastdispatch.label("part")
            self.part.__enter__()

        def __exit__(self, *error: object) -> None:
            self.part.__exit__(*error)

    @contextlib.contextmanager
    def nested() -> Iterator[None]:
        with fastdispatch.label("outer"), Part():
            yield

    def work() -> None:
        for _ in range(3):
            with nested():
                programs.leaf(2)

    frame, monitor = (record(source, work) for source in ("frame", "monitor"))
    assert split(frame) == split(monitor)
    leaves = [path[-4:-1] for path in split(monitor)[0] if path[-1].endswith("leaf")]
    assert len(leaves) == 2 and any(path[-2:] == ("outer", "part") for path in leaves)


def test_a_call_that_raises_through_c_code() -> None:
    def fail(value: int) -> int:
        raise KeyError(value)

    def work() -> None:
        for _ in range(3):
            with contextlib.suppress(KeyError):
                sorted([3, 1, 2], key=fail)
            programs.leaf(1)

    frame, monitor = (record(source, work) for source in ("frame", "monitor"))
    assert paths(frame, "calls") == paths(monitor, "calls")


def test_generators_that_never_start() -> None:
    """Also coroutines, methods, and those that a container or another thread releases, closed or thrown into."""

    class Reader:
        def rows(self) -> Iterator[int]:
            yield 1

    async def fetch() -> None: ...

    async def stream() -> AsyncIterator[int]:
        yield 1

    def release(kept: list[object]) -> None:
        kept.clear()

    def work() -> None:
        for _ in range(3):
            Reader().rows()
            stream()
            (programs.leaf(i) for i in range(2))
            if sys.version_info < (3, 14):
                Reader().rows().close()
            with contextlib.suppress(KeyError):
                Reader().rows().throw(KeyError)
        kept: list[object] = [Reader().rows(), Reader().rows()]
        next(kept[0])  # type: ignore[call-overload]
        thread = threading.Thread(target=release, args=(kept,))
        thread.start()
        thread.join()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            fetch()
        assert len(caught) == 1  # never awaited, as without a recorder

    frame, monitor = (record(source, work) for source in ("frame", "monitor"))
    assert split(frame) == split(monitor)
    sums = dict.fromkeys(("rows", "stream", "genexpr", "fetch"), 0)
    for path, calls in paths(monitor, "calls").items():
        for name in sums:
            sums[name] += calls if name in path[-1].rpartition(":")[2] else 0
    assert sums == {"rows": 11 if sys.version_info < (3, 14) else 8, "stream": 3, "genexpr": 3, "fetch": 1}


OPTIMIZER = """
class Optimizer:
    def profile_hook_step(function):
        def wrapper(*arguments):
            return function(*arguments)
        return wrapper
inner = Optimizer.profile_hook_step(lambda: None)
step = Optimizer.profile_hook_step(inner)  # one optimizer that calls another
"""


@pytest.mark.parametrize("source", ["frame", "monitor"])
def test_steps_end_in_code_that_first_runs_between_windows(source: str) -> None:
    scope: dict[str, Callable[[], None]] = {}
    exec(compile(OPTIMIZER, "/packages/torch/optim/optimizer.py", "exec"), scope)

    def work() -> None:
        for number in range(6):
            programs.leaf(number)
            scope["step"]()

    trace = record(source, work, schedule=lambda step: 2 * (step >= 4))
    assert trace.ranks[0]["steps_source"] == "optimizer"
    leaves = [(path, calls) for path, calls in paths(trace, "calls").items() if path[-1].endswith("leaf")]
    assert [calls for _, calls in leaves] == [2]


@pytest.mark.torch
def test_the_same_training() -> None:
    """Modules, operators and origins of backward."""
    from tests.training import make_step

    def train() -> None:
        for _ in range(2):
            step()

    def operators(trace: fastdispatch.Trace) -> Counter[tuple[str, str]]:
        """Calls by operator or autograd node and origin."""
        nodes, contexts, found = trace.nodes, trace.contexts, Counter[tuple[str, str]]()
        key = [nodes["key"][node] for node in contexts["node"]]
        for node, origin, calls in zip(contexts["node"], contexts["origin"], contexts["calls"], strict=True):
            if nodes["kind"][node] != "python":
                found[nodes["key"][node], key[origin] if origin >= 0 else ""] += calls
        return found

    _, step = make_step()
    train()
    frame, monitor = (record(source, train, ops="record") for source in ("frame", "monitor"))
    assert split(frame)[0] == split(monitor)[0]
    assert operators(frame) == operators(monitor)
    tables = [trace.table("module") for trace in (frame, monitor)]
    figures = [sorted(zip(table["where"], table["calls"], strict=True)) for table in tables]
    assert figures[0] == figures[1] and len(figures[0]) > 10


# -- sys.monitoring beside other tools ---------------------------------------------------------------------------------


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
