"""job_schedule_profiler_range: PaddlePaddle's truth table, and the recorded iterations."""

from pathlib import Path
from typing import Any

import pytest

import fastdispatch
from fastdispatch import job_schedule_profiler_range
from tests import commands, processes, programs, traces

# As published: (start, end, exit_after_prof) and the iterations of range(10) that are true.
TABLE = (
    ((3, 6, False), [3, 4, 5]),
    ((0, 5, False), [0, 1, 2, 3, 4]),
    ((-1, 2, False), [0, 1]),
    ((8, 20, False), [8, 9]),
    ((5, 5, True), []),
    ((6, 3, True), []),
    ((-1, -1, True), []),
    ((20, 30, True), []),
)


def loop(*arguments: Any, count: int = 10) -> tuple[list[int], int]:
    """The recorded iterations, and the number of all iterations."""
    found, done = [], 0
    for i in range(count):
        with job_schedule_profiler_range(i, *arguments) as on:
            assert type(on) is bool
            programs.leaf(i)
            found += [i] if on else []
            done += 1
    return found, done


@pytest.fixture(autouse=True)
def out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the first recording of a test will be."""
    monkeypatch.setenv("FASTDISPATCH_OUT", str(tmp_path / "out"))
    monkeypatch.setattr("fastdispatch.record.profiler_range._windows", 0)
    return tmp_path / "out"


@pytest.mark.parametrize(("arguments", "expected"), TABLE, ids=str)
def test_the_truth_table(arguments: Any, expected: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert loop(*arguments) == (expected, 10)
    if expected and expected[-1] < 9:
        assert len(expected) == fastdispatch.load(tmp_path / "out").ranks[0]["steps"]
    with job_schedule_profiler_range(99, 0, 0) as on:  # ends the open recording of (8, 20)
        assert not on
    assert list(tmp_path.glob("*")) == ([tmp_path / "out"] if expected else [])


def test_a_training_continues_without_recording(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("FASTDISPATCH_OUT", str(tmp_path / "file" / "out"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert loop(3, 6, False) == ([3, 4, 5], 10)
    with job_schedule_profiler_range(99, 0, 0) as on:
        assert not on
    errors = capsys.readouterr().err.splitlines()
    assert len(errors) == 2 and "recording in memory" in errors[0]
    assert fastdispatch.load(errors[1].rpartition(" ")[2]).ranks[0]["steps"] == 3


def test_it_exits_after_the_last_one(out: Path) -> None:
    done = []
    with pytest.raises(SystemExit) as raised:
        for i in range(10):
            with job_schedule_profiler_range(i, 2, 4):
                done.append(i)
    assert (done, raised.value.code) == ([0, 1, 2, 3], None)
    rank = fastdispatch.load(out).ranks[0]
    assert (rank["state"], rank["latest_steps"]["number"]) == ("stopped", [2, 3])


def test_an_exception_passes_and_is_not_replaced_by_the_exit(out: Path) -> None:
    with pytest.raises(ZeroDivisionError), job_schedule_profiler_range(3, 2, 4):
        _ = 1 // 0
    assert fastdispatch.load(out).ranks[0]["state"] == "stopped"
    with fastdispatch.CallGraph(None, ops="off"):
        pass  # nothing records any more


def test_its_recording_has_a_timeline_of_those_iterations(tmp_path: Path) -> None:
    for start in (2, 5):
        for i in range(7):
            window = job_schedule_profiler_range(i, start_step=start, stop_step=start + 2, exit_after_prof=False)
            with window, fastdispatch.job("forward", i):
                programs.leaf(i)
            programs.recursion()
    for start, name in ((2, "out"), (5, "out-2")):
        trace = fastdispatch.load(tmp_path / name, timeline=True)
        jobs = trace.jobs()
        assert jobs["micro_batch"] == jobs["step"] == [start, start + 1]
        calls = traces.calls(trace)
        assert (calls["forward"], calls["leaf"]) == (2, 2)
        assert trace.table()["where"].count("programs.py:[]:leaf") <= 1
        # Calls between two iterations are in their window, calls after the last one are not.
        assert trace.ranks[0]["latest_steps"]["number"] == [start, start + 1]
        assert b'"forward mb' in trace.export("chrome")


def test_the_gpu_option_applies(out: Path) -> None:
    window = job_schedule_profiler_range(0, 0, 1, exit_after_prof=False, gpu="sometimes")
    with pytest.raises(fastdispatch.Error, match="must be one of kernels, modules"):
        window.__enter__()
    assert not out.exists()
    with job_schedule_profiler_range(1, 0, 1, gpu="sometimes") as on:  # nothing is started
        assert not on


def test_it_drives_the_graph_that_records() -> None:
    seen = []
    with fastdispatch.CallGraph(None, ops="off", timeline="jobs") as graph:
        assert graph._session is not None
        for i in range(10, 18):
            with job_schedule_profiler_range(i, 12, 14, exit_after_prof=False) as on:
                seen.append(on)
                with fastdispatch.job("forward", i):
                    programs.leaf(i)
            programs.recursion()
    trace = fastdispatch.Trace(graph._session.trace(timeline=True))
    assert seen == [False, False, True, True, False, False, False, False]
    assert trace.jobs()["micro_batch"] == [12, 13]
    assert trace.jobs()["step"] == [12, 13]
    calls = traces.calls(trace)
    assert calls["leaf"] == 2
    assert trace.ranks[0]["counters"]["hook_lost"] == 0


def test_no_hook_outside_of_the_range() -> None:
    """While CPython's evaluator is installed, calls have no added cost."""
    with fastdispatch.CallGraph(None, ops="off") as graph:
        assert graph._session is not None
        with job_schedule_profiler_range(0, 1, 3, exit_after_prof=False):
            before = graph.stats()["contexts"]
            programs.classes()
            assert graph.stats()["contexts"] == before
        with job_schedule_profiler_range(1, 1, 3, exit_after_prof=False):
            programs.classes()
            assert graph.stats()["contexts"] > before


def test_steps_are_counted_once_where_the_program_counts_them() -> None:
    with fastdispatch.CallGraph(None, ops="off") as graph:
        for i in range(5):
            with job_schedule_profiler_range(i, 0, 9):
                programs.leaf(i)
                graph.step()
    assert graph.stats()["steps"] == 5
    with fastdispatch.CallGraph(None, ops="off", steps="1:3") as graph:  # its own window decides
        for i in range(5):
            with job_schedule_profiler_range(i, 0, 9) as on:
                assert on
                programs.leaf(i)
    assert graph.stats()["steps"] == 2


@pytest.mark.parametrize(
    ("arguments", "options"),
    [((0,), {}), ((0, 1), {}), ((0, 1, 2), {"start_step": 1}), ((0, 1), {"start_step": 1}), ((0, "1", 2), {})],
    ids=str,
)
def test_bad_arguments(arguments: Any, options: Any) -> None:
    with pytest.raises(TypeError):
        job_schedule_profiler_range(*arguments, **options)


PROGRAM = """
import fastdispatch
for i in range(6):
    with fastdispatch.job_schedule_profiler_range(i, 2, 4) as on:
        print(i, on)
print("never")
"""


def test_a_program_ends_well_and_its_recording_too(tmp_path: Path) -> None:
    (tmp_path / "loop.py").write_text(PROGRAM)
    done = processes.python("loop.py", folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "0 False\n1 False\n2 True\n3 True\n"
    assert fastdispatch.load(tmp_path / "fastdispatch-out").ranks[0]["latest_steps"]["number"] == [2, 3]
    recorded = processes.fastdispatch("run", "-q", "-o", tmp_path / "run", tmp_path / "loop.py")
    assert (recorded.returncode, recorded.stdout, recorded.stderr) == (0, done.stdout, "")
    assert fastdispatch.load(tmp_path / "run").ranks[0]["latest_steps"]["number"] == [2, 3]


def test_its_options_are_those_of_steps(tmp_path: Path) -> None:
    script = tmp_path / "loop.py"
    script.write_text("from fastdispatch.record.callgraph import current\nfor i in range(6): current().step()\n")
    for number, (options, steps) in enumerate(
        {("1", "3"): [1, 2], ("-1", "2"): [0, 1], (None, "2"): [0, 1], ("4", None): [4, 5]}.items()
    ):
        start = [] if options[0] is None else [f"--job_schedule_profiler_start={options[0]}"]
        end = [] if options[1] is None else ["--job_schedule_profiler_end", options[1]]
        out = tmp_path / str(number)
        assert processes.fastdispatch("run", "-q", "-o", out, *start, *end, script).returncode == 0
        assert fastdispatch.load(out).ranks[0]["latest_steps"]["number"] == steps
    for wrong in (("3", "3"), ("-1", "-1")):
        given = (f"--job_schedule_profiler_start={wrong[0]}", f"--job_schedule_profiler_end={wrong[1]}")
        assert "no step is selected" in commands.complaint("run", *given, script)
    commands.complaint("run", "--steps", "1:2", "--job_schedule_profiler_end", "3", script)
