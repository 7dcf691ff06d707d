"""Steps that a budget skips: where the program is, and code that runs for the first time."""

import os
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import fastdispatch
from fastdispatch.read import live
from fastdispatch.record.budget import FIRST, SETTLED
from tests import processes, traces
from tests.oracle.counting import CallCounter

SOURCES = ["frame"] if sys.version_info < (3, 12) else ["frame", "monitor"]


@pytest.mark.parametrize("source", SOURCES)
def test_where_every_thread_is(source: str, tmp_path: Path) -> None:
    def stand_still() -> bool:
        return [stack.calls[-1] for stack in live.stacks(str(tmp_path))].count("standing_still.py:[]:wait") == 2

    def lines_are_known() -> bool:
        return all(all(stack.lines) for stack in live.stacks(str(tmp_path)))

    with processes.killed("standing_still.py", tmp_path, source):
        processes.wait_for(stand_still)
        processes.wait_for(lines_are_known)
        running = {stack.thread: stack for stack in live.stacks(str(tmp_path))}
    killed = {stack.thread: stack for stack in live.stacks(str(tmp_path))}
    file = "standing_still.py"
    assert [{stack.state for stack in of.values()} for of in (running, killed)] == [{"running"}, {"killed"}]
    for found in (running, killed):
        main = found["main"]
        assert main.step == 200
        expected = [f"{file}:[]:<module>", f"{file}:[]:train", f"{file}:[Layer]:forward", f"{file}:[]:wait"]
        assert [call for call in main.calls if call.startswith(file)] == expected
        (producer,) = (stack for role, stack in found.items() if role.startswith("producer"))
        expected = [f"{file}:[]:produce", f"{file}:[]:numbers", f"{file}:[]:wait"]
        assert [call for call in producer.calls if call.startswith(file)] == expected
    source_lines = (processes.ISOLATED / file).read_text(encoding="utf-8").splitlines()
    at = ("train()", "block.forward(number if block is blocks[1] else 0)", "wait(number)", "time.sleep(1000)")
    for found in (running, killed):
        lines = [line for call, line in zip(found["main"].calls, found["main"].lines, strict=True) if file in call]
        assert [source_lines[line - 1].strip() for line in lines] == list(at)
    ages = running["main"].ages
    assert list(ages) == sorted(ages, reverse=True) and 0 < ages[-1] < 120 * 10**9


class Run:
    """A training of ``STEPS`` steps in which functions run for the first time at known steps."""

    STEPS = 300

    def leaf(self, number: int) -> int:
        return number + 1

    def step(self, number: int) -> int:
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


def recorded(tmp_path: Path, source: str, **options: object) -> tuple[int, fastdispatch.Trace]:
    with fastdispatch.CallGraph(tmp_path, ops="off", calls=source, **options) as graph:  # type: ignore[arg-type]
        found = Run().train(graph.step)
    return found, fastdispatch.load(tmp_path)


def own(calls: Counter[str]) -> Counter[str]:
    return Counter({key.rpartition(":")[2]: count for key, count in calls.items() if "test_unrecorded_steps" in key})


@pytest.mark.parametrize("source", SOURCES)
def test_the_call_graph_is_complete_and_counts_are_of_recorded_steps(source: str, tmp_path: Path) -> None:
    whole, every = recorded(tmp_path / "all", source, steps="all")
    found, some = recorded(tmp_path / "some", source, budget=1e-9)
    assert found == whole
    assert {edge for edge in traces.edges(some) if "step" not in edge} == {
        edge for edge in traces.edges(every) if "step" not in edge
    }
    (rank,) = some.ranks
    assert (rank["steps"], rank["run_steps"], rank["state"]) == (FIRST + SETTLED, Run.STEPS, "stopped")
    counter = CallCounter()
    counter.run(lambda: [Run().step(number) for number in range(rank["steps"])])
    exact, calls = own(counter.calls), own(traces.calls(some, "key"))
    assert calls["step"] == exact["step"]
    # New functions count from their first call on, and so do calls from new places.
    assert {name: calls[name] for name in ("evaluate", "score", "last")} == {"evaluate": 1, "score": 1, "last": 1}
    assert calls["leaf"] == exact["leaf"] + 3
    assert own(traces.calls(every, "key"))["step"] == Run.STEPS


@pytest.mark.parametrize("source", SOURCES)
def test_times_add_up(source: str, tmp_path: Path) -> None:
    _, trace = recorded(tmp_path, source, budget=1e-9)
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
