"""Steps that a budget skips: where the program is, and code that runs for the first time."""

import os
import struct
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType

import pytest
import torch

import fastdispatch
from fastdispatch.read import live
from fastdispatch.record.budget import FIRST, SETTLED, SETTLED_CALLS, StepBudget
from tests import processes, traces
from tests.oracle.counting import CallCounter
from tests.traces import SOURCES

MAGIC = b"\0fdchunk"

#: Calls of a step after which ``monitor`` leaves the open calls to the watch.
MANY = 4000

#: With few calls, all sources follow each of them.
WAYS = [(source, 0) for source in SOURCES] + [("monitor", MANY)] * ("monitor" in SOURCES)


def recorded_steps(calls: int) -> int:
    """Return how many steps of so many calls are recorded at the start, at least: more on a slow machine."""
    return FIRST + min(-(-SETTLED_CALLS // max(calls, 1)), SETTLED)


def is_watched(folder: Path) -> bool:
    """Return whether the watch has found calls: docs/formats/recording.md."""
    data = (folder / "rank00000.fd").read_bytes()
    chunks = (at for at in range(4096, len(data), 4096) if data[at : at + 8] == MAGIC)
    return 24 in [struct.unpack_from("I", data, at + 24)[0] for at in chunks]


@pytest.mark.parametrize(("source", "calls"), WAYS)
def test_where_every_thread_is(source: str, calls: int, tmp_path: Path) -> None:
    def stand_still() -> bool:
        return [stack.calls[-1] for stack in live.position(str(tmp_path))[0]].count("standing_still.py:[]:wait") == 2

    def lines_are_known() -> bool:
        return all(all(stack.lines) for stack in live.position(str(tmp_path))[0])

    with processes.killed("standing_still.py", tmp_path, source, str(calls)):
        processes.wait_for(stand_still)
        processes.wait_for(lines_are_known)
        running = {stack.thread: stack for stack in live.position(str(tmp_path))[0]}
    killed = {stack.thread: stack for stack in live.position(str(tmp_path))[0]}
    file = "standing_still.py"
    if source == "monitor":
        assert is_watched(tmp_path) == (calls > 0)
    assert [{stack.state for stack in of.values()} for of in (running, killed)] == [{"running"}, {"killed"}]
    for found in (running, killed):
        main = found["main"]
        assert main.step == 200
        calls_of_main = ("[]:<module>", "[]:train", "[Layer]:forward", "[Layer]:block", "[]:wait")
        expected = [f"{file}:{call}" for call in calls_of_main]
        assert [call for call in main.calls if call.startswith(file)] == expected
        (producer,) = (stack for role, stack in found.items() if role.startswith("producer"))
        expected = [f"{file}:[]:produce", f"{file}:[]:numbers", f"{file}:[]:wait"]
        assert [call for call in producer.calls if call.startswith(file)] == expected
    source_lines = (processes.ISOLATED / file).read_text(encoding="utf-8").splitlines()
    forward = "block.forward(number if isinstance(block, Layer) else 0)"
    at = ("train()", forward, "self.block(number)", "wait(number)", "time.sleep(1000)")
    for found in (running, killed):
        lines = [line for call, line in zip(found["main"].calls, found["main"].lines, strict=True) if file in call]
        assert [source_lines[line - 1].strip() for line in lines] == list(at)
    ages = running["main"].ages
    assert list(ages) == sorted(ages, reverse=True) and 0 < ages[-1] < 120 * 10**9


@pytest.mark.parametrize("source", SOURCES)
def test_the_open_calls_of_a_running_thread_were_open_at_one_time(source: str, tmp_path: Path) -> None:
    file = "other_paths.py:[]:"
    paths = [[], *([side, f"{side}_middle", f"{side}_end"] for side in ("left", "right"))]
    allowed = {tuple(path[:depth]) for path in paths for depth in range(4)}
    names: set[tuple[str, ...]] = set()

    def is_seen() -> bool:
        for stack in live.position(str(tmp_path))[0]:
            calls = (call for call in stack.calls if call.startswith(file) and "<module>" not in call)
            names.add(tuple(call.removeprefix(file) for call in calls))
        return len(names) > 1

    processors = os.sched_getaffinity(0)
    with processes.killed("other_paths.py", tmp_path, source) as program:
        for _ in range(500):
            is_seen()
        # On one processor the program stands during a look: between two calls at most of the time, but not always.
        for process in (program, 0):
            os.sched_setaffinity(process, {min(processors)})
        try:
            processes.wait_for(is_seen)  # calls are looked at once a second
        finally:
            os.sched_setaffinity(0, processors)
    assert names <= allowed


class Run:
    """A training of ``STEPS`` steps in which functions run for the first time at known steps."""

    STEPS = 300

    def __init__(self, calls: int) -> None:
        self.calls = calls  # besides

    def leaf(self, number: int) -> int:
        return number + 1

    def more(self) -> None: ...

    def step(self, number: int) -> int:
        for _ in range(self.calls):
            self.more()
        return self.leaf(number) + sum(self.leaf(each) for each in self.each())

    def each(self) -> Iterator[int]:
        yield from range(3)

    def evaluate(self) -> int:
        return self.score() + self.leaf(0)

    def score(self) -> int:
        return self.leaf(1)

    def last(self) -> int:
        return self.leaf(2)

    def train(self, end: Callable[[], object]) -> int:
        found = 0
        for number in range(self.STEPS):
            found += self.step(number)
            if number % 100 == 77:
                found += self.evaluate()
            if number == 250:
                found += self.last()
            end()
        return found


def recorded(folder: Path, source: str, calls: int, **options: object) -> tuple[int, fastdispatch.Trace]:
    with fastdispatch.CallGraph(folder, ops="off", calls=source, **options) as graph:  # type: ignore[arg-type]
        found = Run(calls).train(graph.step)
    return found, fastdispatch.load(folder)


def own(calls: Counter[str]) -> Counter[str]:
    return Counter({key.rpartition(":")[2]: count for key, count in calls.items() if "test_unrecorded_steps" in key})


@pytest.mark.parametrize(("source", "calls"), WAYS)
def test_the_call_graph_is_complete_and_counts_are_of_recorded_steps(source: str, calls: int, tmp_path: Path) -> None:
    whole, every = recorded(tmp_path / "all", source, calls, steps="all")
    found, some = recorded(tmp_path / "some", source, calls, budget=1e-9)
    assert found == whole
    assert {edge for edge in traces.edges(some) if "step" not in edge} == {
        edge for edge in traces.edges(every) if "step" not in edge
    }
    (rank,) = some.ranks
    assert (rank["run_steps"], rank["state"]) == (Run.STEPS, "stopped")
    assert recorded_steps(calls) <= rank["steps"] <= FIRST + SETTLED
    counter = CallCounter()
    counter.run(lambda: [Run(calls).step(number) for number in range(rank["steps"])])
    exact, counts = own(counter.calls), own(traces.calls(some, "key"))
    assert (counts["step"], counts["more"]) == (exact["step"], exact["more"])
    # New functions count from their first call on, and so do calls from new places.
    assert {name: counts[name] for name in ("evaluate", "score", "last")} == {"evaluate": 1, "score": 1, "last": 1}
    assert counts["leaf"] == exact["leaf"] + 3
    assert own(traces.calls(every, "key"))["step"] == Run.STEPS


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("explicit", [True, False])
def test_the_ends_of_unrecorded_steps_are_timed(source: str, explicit: bool) -> None:
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))])
    with fastdispatch.CallGraph(ops="off", calls=source, budget=1e-9) as graph:  # type: ignore[arg-type]
        end, ends, begin = graph.step if explicit else optimizer.step, [], time.perf_counter_ns()
        for number in range(FIRST + SETTLED + 200):
            end()
            if number in (FIRST + SETTLED - 1, FIRST + SETTLED + 100):
                assert graph._session is not None
                ends.append(graph._session.progress()[5])
    assert 100 * 50 < ends[1] - ends[0] < time.perf_counter_ns() - begin


@pytest.mark.skipif("monitor" not in SOURCES, reason="sys.monitoring is new in 3.12")
def test_counts_of_recorded_steps_between_watched_ones(tmp_path: Path) -> None:
    _, trace = recorded(tmp_path, "monitor", MANY, budget=0.4)
    steps, counts = trace.ranks[0]["steps"], own(traces.calls(trace, "key"))
    assert (counts["step"], counts["more"]) == (steps, steps * MANY)


@pytest.mark.skipif("monitor" not in SOURCES, reason="sys.monitoring is new in 3.12")
def test_other_tools_in_watched_steps(tmp_path: Path) -> None:
    """What another tool disables stays so, and a profile function gets all events."""
    run, monitoring = Run(MANY), sys.monitoring
    starts: Counter[str] = Counter()
    profiled: Counter[tuple[str, str]] = Counter()

    def started(code: CodeType, offset: int) -> object:
        starts[code.co_qualname] += 1
        return monitoring.DISABLE

    with fastdispatch.CallGraph(tmp_path, ops="off", calls="monitor", budget=1e-9) as graph:
        monitoring.use_tool_id(0, "another tool")
        try:
            for number in range(100):
                run.step(number)
                if number == 60:
                    monitoring.register_callback(0, monitoring.events.PY_START, started)
                    monitoring.set_events(0, monitoring.events.PY_START)
                if number == 90:
                    sys.setprofile(lambda frame, event, arg: profiled.update([(frame.f_code.co_name, event)]))
                    run.step(number)
                    sys.setprofile(None)
                    run.evaluate()
                graph.step()
        finally:
            monitoring.set_events(0, 0)
            monitoring.register_callback(0, monitoring.events.PY_START, None)
            monitoring.free_tool_id(0)
    assert {starts[f"Run.{name}"] for name in ("step", "more", "leaf", "evaluate", "score")} == {1}
    assert profiled["more", "call"] == profiled["more", "return"] == MANY
    trace = fastdispatch.load(tmp_path)
    counts = own(traces.calls(trace, "key"))
    assert (counts["step"], counts["evaluate"]) == (trace.ranks[0]["steps"], 1)
    assert recorded_steps(MANY) <= counts["step"] <= FIRST + SETTLED


@pytest.mark.parametrize("source", SOURCES)
def test_times_add_up(source: str, tmp_path: Path) -> None:
    _, trace = recorded(tmp_path, source, 0, budget=1e-9)
    (rank,) = trace.ranks
    threads = rank["threads"]
    assert all(abs(a - b) <= 1000 for a, b in zip(threads["covered"], threads["self"], strict=True))
    assert rank["recorded"] >= threads["self"][0] - 1000


def test_code_that_is_new_in_every_step(tmp_path: Path) -> None:
    with fastdispatch.CallGraph(tmp_path, ops="off", budget=1e-9) as graph:
        for number in range(400):
            names: dict[str, Callable[[], int]] = {}
            exec(f"def new_{number}(): return {number}", names)
            names[f"new_{number}"]()
            graph.step()
    trace = fastdispatch.load(tmp_path)
    found = sum(name.startswith("new_") for name in traces.calls(trace))
    steps = trace.ranks[0]["steps"]
    assert steps < 60 and steps + 64 <= found <= steps + 64 + 400 // 64


def test_the_budget_decides_for_several_steps_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    answer = StepBudget.__call__

    def ask(budget: StepBudget, number: int) -> int:
        asked.append(number)
        return answer(budget, number)

    monkeypatch.setattr(StepBudget, "__call__", ask)
    with fastdispatch.CallGraph(tmp_path, ops="off", calls="frame", budget=1e-9) as graph:
        for _ in range(1000):
            graph.step()
    (rank,) = fastdispatch.load(tmp_path).ranks
    of_run = rank["meta"]["steps_of_run"]
    assert asked == sorted(set(asked)) and len(asked) <= FIRST + SETTLED + 1000 // 32
    assert (of_run["steps"], of_run["recorded"], rank["run_steps"]) == (1000, FIRST + SETTLED, 1000)
    assert of_run["followed"] == 1000 - FIRST - SETTLED - 1  # without the one that contains the end of the recording


def test_all_steps_of_a_short_run(tmp_path: Path) -> None:
    with fastdispatch.CallGraph(tmp_path) as graph:
        for _ in range(5):
            graph.step()
    trace = fastdispatch.load(tmp_path)
    assert trace.ranks[0]["steps"] == trace.ranks[0]["run_steps"] == 5
    assert "all 5 steps were recorded" in str(trace.report())


def test_threads_begin_and_end_in_unrecorded_steps(tmp_path: Path) -> None:
    def work() -> None:
        os.path.join("a", "b")

    with fastdispatch.CallGraph(tmp_path, ops="off", budget=1e-9) as graph:
        for _ in range(200):
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()
            graph.step()
    trace = fastdispatch.load(tmp_path)
    assert traces.calls(trace)["work"] == trace.ranks[0]["steps"] == FIRST + SETTLED
