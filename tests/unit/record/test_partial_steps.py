"""Parts of a run that a budget records: windows of time without steps, and the begin of a step that is too long."""

import time
from pathlib import Path

import pytest

import fastdispatch
from fastdispatch.record import options
from tests import traces
from tests.traces import SOURCES

#: Stands for the seconds for which a program without steps is recorded completely.
PATIENCE = 0.05


def leaf(number: int) -> int:
    return number + 1


def work() -> int:
    return sum(leaf(number) for number in range(100))


def late() -> int:
    return leaf(0)


def work_for(seconds: float) -> int:
    calls, end = 0, time.monotonic() + seconds
    while not calls or time.monotonic() < end:
        work()
        calls += 1
    return calls


@pytest.fixture(autouse=True)
def _patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(options, "PATIENCE", PATIENCE)


def recorder(folder: Path, source: str, budget: float = 0.01) -> fastdispatch.CallGraph:
    return fastdispatch.CallGraph(folder, ops="off", calls=source, budget=budget)  # type: ignore[arg-type]


@pytest.mark.parametrize("source", SOURCES)
def test_windows_of_a_program_without_steps(source: str, tmp_path: Path) -> None:
    with recorder(tmp_path, source):
        calls = work_for(20 * PATIENCE)
        late()
        calls += work_for(PATIENCE)
    trace = fastdispatch.load(tmp_path)
    (rank,) = trace.ranks
    found = traces.calls(trace)
    windows = 100  # at most; each may begin in work()
    assert 0 < found["work"] < calls / 2
    assert found["leaf"] <= 100 * (found["work"] + windows)
    assert found["late"] == 1
    assert rank["recorded"] < 10 * PATIENCE * 1e9
    assert (rank["steps"], rank["run_steps"]) == (0, 0)
    assert "no steps found; " in str(trace.report()) and " are recorded" in str(trace.report())
    threads = rank["threads"]
    assert all(abs(a - b) <= 1000 for a, b in zip(threads["covered"], threads["self"], strict=True))


@pytest.mark.parametrize("source", SOURCES)
def test_a_program_with_few_calls_is_recorded_completely(source: str, tmp_path: Path) -> None:
    with recorder(tmp_path, source, budget=0.99):
        for _ in range(5):
            time.sleep(PATIENCE)
            work()
    assert traces.calls(fastdispatch.load(tmp_path))["leaf"] == 500


@pytest.mark.parametrize("source", SOURCES)
def test_steps_after_a_long_start(source: str, tmp_path: Path) -> None:
    with recorder(tmp_path, source) as graph:
        work_for(20 * PATIENCE)
        for _ in range(60):
            work()
            graph.step()
    (rank,) = fastdispatch.load(tmp_path).ranks
    about = rank["meta"]["steps_of_run"]
    assert rank["run_steps"] == about["steps"] == 60
    assert rank["steps"] == about["recorded"] >= 35
    assert about["before"] >= 20 * PATIENCE * 1e9


@pytest.mark.parametrize("source", SOURCES)
def test_a_long_step_is_cut(source: str, tmp_path: Path) -> None:
    with recorder(tmp_path, source) as graph:
        for number in range(10):
            work()
            work_for(4 * PATIENCE + 0.5 if number == 5 else 0)
            graph.step()
    trace = fastdispatch.load(tmp_path)
    (rank,) = trace.ranks
    assert rank["meta"]["steps_of_run"].items() >= {"steps": 10, "recorded": 9, "cut": 1}.items()
    assert (rank["steps"], rank["run_steps"]) == (9, 10)
    found = traces.calls(trace)
    assert (found["work_for"], found["work"], found["leaf"]) == (9, 18, 1800)


@pytest.mark.torch
@pytest.mark.parametrize("source", SOURCES)
def test_loops_of_operators(source: str, tmp_path: Path) -> None:
    """They have no Python calls, which end windows and steps that are too long elsewhere."""
    torch = pytest.importorskip("torch")
    unit, folders = torch.eye(4), (tmp_path / "windows", tmp_path / "step")

    def multiply(seconds: float) -> int:
        calls, end, product = 0, time.monotonic() + seconds, unit
        while time.monotonic() < end:
            product = product @ unit
            calls += 1
        return calls

    with fastdispatch.CallGraph(folders[0], calls=source):
        calls = multiply(20 * PATIENCE)
    with fastdispatch.CallGraph(folders[1], calls=source) as graph:
        for number in range(10):
            multiply(4 * PATIENCE + 0.5 if number == 5 else 0)
            graph.step()
    traced = [fastdispatch.load(folder) for folder in folders]
    assert 0 < traces.column(traced[0], "node")["aten::matmul"] < calls
    run = traced[1].ranks[0]["meta"]["steps_of_run"]
    assert (run["steps"], run["recorded"], run["cut"]) == (10, 9, 1)


@pytest.mark.parametrize("source", SOURCES)
def test_new_code_in_a_long_step(source: str, tmp_path: Path) -> None:
    with recorder(tmp_path, source, budget=1e-9) as graph:
        for number in range(60):
            work()
            if number == 50:
                calls = work_for(4 * PATIENCE + 0.5)
                late()
            graph.step()
    trace = fastdispatch.load(tmp_path)
    found = traces.calls(trace)
    assert trace.ranks[0]["steps"] == 36
    assert (found["work_for"], found["late"]) == (1, 1) and 36 <= found["work"] < calls
