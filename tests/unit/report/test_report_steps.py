"""Which steps a report covers, and its lines about the run and its threads; intervals of slow steps."""

import re
import sqlite3
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import fastdispatch
from fastdispatch.detectors.many_ranks import slow_steps
from fastdispatch.read import steps
from fastdispatch.text.formats import seconds
from tests import commands, programs, schemas


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """20 steps of two calls of leaf, after a set-up; two threads wait all the time, one of them with 8 calls."""
    folder = tmp_path_factory.mktemp("steps")
    end = threading.Event()

    def wait() -> None:
        programs.leaf(1)
        end.wait()

    threads = [threading.Thread(target=wait, name=f"idle-{i}") for i in range(2)]
    with fastdispatch.CallGraph(folder, ops="off") as graph:
        for thread in threads:
            thread.start()
        programs.classes()
        time.sleep(0.05)
        for _ in range(20):
            programs.leaf(programs.leaf(1))
            sum(range(20_000))
            graph.step()
        end.set()
        for thread in threads:
            thread.join()
    return folder


def rows(*words: object) -> dict[str, int]:
    return {row["where"]: row["calls"] for row in commands.document("report", *words)["rows"]}


LEAF = "tests/programs.py:[]:leaf"


def test_the_settled_steps_are_the_default(recording: Path) -> None:
    window = fastdispatch.load(recording, steps="settled").window
    assert window is not None and window.settled
    text = commands.out("report", recording)
    (line,) = (line for line in text.splitlines() if line.startswith("steps "))
    assert line == f"{window.text}; --steps all: the whole recording"
    assert line.startswith(f"steps {window.first} to 19 of 20 (the first")
    assert rows(recording)[LEAF] == 2 * window.steps


@pytest.mark.parametrize("words", [(), ("--steps", "all"), ("--tree",), ("--callers", LEAF)], ids=str)
def test_at_most_three_lines_precede_the_findings(words: tuple[str, ...], recording: Path) -> None:
    first, _, rest = commands.out("report", recording, *words).partition("\n\n")
    assert 2 <= first.count("\n") + 1 <= 3
    assert ("operators: off" in rest) == ("--callers" not in words)


@pytest.mark.parametrize(
    ("time", "doubt"),
    [
        (steps.StepTime(10_000_000, 9_000_000, 11_000_000, 4), ""),
        (
            steps.StepTime(10_000_000, 8_000_000, 16_000_000, 6),
            "6 steps were measured, half of them took 8 ms to 16 ms",
        ),
        (steps.StepTime(10_000_000, 5_000_000, 15_000_000, 200), ""),
        (steps.StepTime(10_000_000, 10_000_000, 10_000_000, 1), "one step was measured"),
    ],
)
def test_few_steps_with_different_times_are_noise(time: steps.StepTime, doubt: str) -> None:
    assert doubt in time.doubt and bool(doubt) == ("noise" in time.doubt)


def test_other_steps(recording: Path) -> None:
    assert rows(recording, "--steps", "4:12")[LEAF] == 16
    assert "\nsteps 4 to 11 of 20; " in commands.out("report", recording, "--steps", "4:12")
    assert "\nsteps 6 to 11 of 20; " in commands.out("report", recording, "--steps", "6:13")
    assert "\nsteps 16 to 19 of 20; " in commands.out("report", recording, "--steps", "17:")
    assert rows(recording, "--steps", "all")[LEAF] > 42
    assert "\nthe whole recording, with start-up and first steps\n" in commands.out(
        "report", recording, "--steps", "all"
    )


def test_exports_have_the_same_steps(recording: Path, tmp_path: Path) -> None:
    for words, count in (((), rows(recording)[LEAF]), (("--steps", "4:12"), 16)):
        commands.out("export", "sqlite", recording, "-o", tmp_path / "x.sqlite", *words)
        with closing(sqlite3.connect(tmp_path / "x.sqlite")) as base:
            assert base.execute("SELECT calls FROM functions WHERE place = ?", (LEAF,)).fetchall() == [(count,)]
        commands.out("svg", recording, "-o", tmp_path / "x.dot", "--all", "--weight", "calls", *words)
        assert "classes" not in (tmp_path / "x.dot").read_text()
    commands.out("svg", recording, "-o", tmp_path / "x.dot", "--all", "--weight", "calls", "--steps", "all")
    assert "classes" in (tmp_path / "x.dot").read_text()


def test_the_parts_of_the_run(recording: Path) -> None:
    parts = steps.parts(fastdispatch.load(recording).ranks)
    text = commands.out("report", recording)
    (line,) = (line for line in text.splitlines() if line.startswith("run: "))
    for part in parts:
        assert f"{part.name}{f' ({part.steps})' if part.steps else ''} {seconds(part.time)}" in line or not part.time
    document = commands.document("report", recording)
    schemas.valid(document, "report")
    assert [part["time"] for part in document["parts"]] == [part.time for part in parts]
    assert document["step_low"] <= document["step"] <= document["step_high"]
    assert document["step_count"] == document["window"]["steps"]


def test_idle_threads_are_one_line(recording: Path) -> None:
    text = commands.out("report", recording)
    assert "\nidle, less than 1 % on the CPU: 2 threads (idle-*)\n" in text
    assert "threading.py" not in text and re.search(r"hidden: .*\d+ of idle threads", text)
    assert re.search(r"the main thread, [\d.]+ % of it (off the CPU|waiting, [\d.]+ % without a core)", text)
    assert all(float(share) <= 100 for share in re.findall(r"([\d.]+) %", text))
    assert "threading.py:[Thread]:run" in commands.out("report", recording, "--all")


def test_merged_ranks(recording: Path, tmp_path: Path) -> None:
    fastdispatch.merge([recording], tmp_path / "merged.json")
    whole, merged = (commands.out("report", path) for path in (recording, tmp_path / "merged.json"))
    assert merged.splitlines()[1:] == whole.splitlines()[1:]
    error = commands.complaint("report", tmp_path / "merged.json", "--steps", "4:8")
    assert "a dump has all steps and the settled ones" in error


def test_times_that_vary() -> None:
    """The reason for a window of the second half is stated; one skipped step is singular."""

    def text(**more: Any) -> str:
        return steps.Window(**({"first": 1, "last": 40, "steps": 40, "skipped": 1, "ended": 41} | more)).text

    usual = {"settled": True, "varying": False, "slower": 5.21}
    assert text(**usual) == "steps 1 to 40 of 41 (the first is skipped: 5.2 times as long)"
    for slower in (0.94, 1.04):
        assert text(**usual | {"slower": slower, "skipped": 3}).endswith(
            "(the first 3 are skipped: their times differ)"
        )
    assert text(**usual | {"varying": True, "skipped": 20}).endswith("(the first 20 are skipped: times vary)")
    assert text(**usual | {"settled": False, "last": 1}) == "step 1 of 41"
    assert "(by rank, the first 4 to 9 are skipped: " in text(**usual | {"skipped": 4, "most_skipped": 9})
    assert "(on some ranks, up to the first 3 are skipped: " in text(**usual | {"skipped": 0, "most_skipped": 3})
    assert "(the first is skipped: " in text(**usual | {"most_skipped": 1})


CONTEXT, USUAL, EXTRA = 5, 10.0, 100.0
MINUTE = 60 * 10**9
NOON = 1_795_435_200 * 10**9


def rank(slow: set[int], steps: int = 20) -> dict[str, Any]:
    """Steps of a minute from number 100 on. ``slow``: numbers of steps in which the context takes long."""
    numbers = list(range(100, 100 + steps))
    return {
        "start_realtime": NOON,
        "latest_steps": {
            "number": numbers,
            "begin": [row * MINUTE for row in range(steps)],
            "end": [(row + 1) * MINUTE for row in range(steps)],
        },
        "step_tops": {
            "step": [number for number in numbers for _ in range(2)],
            "context": [3, CONTEXT] * steps,
            "self": [self for number in numbers for self in (1000, 110 if number in slow else 10)],
        },
    }


@pytest.mark.parametrize(
    ("slow", "text"),
    [
        ({105, 106, 107}, "in steps 105 to 107, 12:05:00 to 12:08:00 UTC"),
        ({105, 106, 108, 109}, "in steps 105 to 109 (4 of them), 12:05:00 to 12:10:00 UTC"),
        ({119}, "in step 119, 12:19:00 to 12:20:00 UTC"),
        (set(range(100, 120)), "in 20 of the latest 20 steps"),
        ({100, 110, 119}, "None"),
        (set(), "None"),
    ],
)
def test_interval(slow: set[int], text: str) -> None:
    assert str(slow_steps(rank(slow), CONTEXT, USUAL, EXTRA)) == text


def test_other_contexts_are_usual() -> None:
    assert slow_steps(rank({105}), CONTEXT + 1, USUAL, EXTRA) is None
