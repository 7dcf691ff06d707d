"""Which steps a report covers, and its lines about the run and its threads."""

from __future__ import annotations

import json
import re
import sqlite3
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import fastdispatch
from fastdispatch.cli import main
from fastdispatch.read import steps
from fastdispatch.text.formats import seconds
from tests import programs, schemas


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


def printed(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    capsys.readouterr()
    assert main([str(word) for word in words]) == 0
    return capsys.readouterr().out


def rows(capsys: pytest.CaptureFixture[str], *words: object) -> dict[str, int]:
    document = json.loads(printed(capsys, "report", *words, "--json"))
    return {row["where"]: row["calls"] for row in document["rows"]}


LEAF = "tests/programs.py:[]:leaf"


def test_the_settled_steps_are_the_default(recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
    window = fastdispatch.load(recording, steps="settled").window
    assert window is not None and window.settled
    text = printed(capsys, "report", recording)
    (line,) = (line for line in text.splitlines() if line.startswith("steps "))
    assert line == f"{window.text}; --steps all: the whole recording"
    assert line.startswith(f"steps {window.first} to 19 of 20 (the first")
    assert rows(capsys, recording)[LEAF] == 2 * window.steps


def test_other_steps(recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert rows(capsys, recording, "--steps", "4:12")[LEAF] == 16
    assert "\nsteps 4 to 11 of 20; " in printed(capsys, "report", recording, "--steps", "4:12")
    assert "\nsteps 6 to 11 of 20; " in printed(capsys, "report", recording, "--steps", "6:13")
    assert "\nsteps 16 to 19 of 20; " in printed(capsys, "report", recording, "--steps", "17:")
    assert rows(capsys, recording, "--steps", "all")[LEAF] > 42
    assert "\nthe whole recording, with start-up and first steps\n" in printed(
        capsys, "report", recording, "--steps", "all"
    )


def test_exports_have_the_same_steps(recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words, count in (((), rows(capsys, recording)[LEAF]), (("--steps", "4:12"), 16)):
        printed(capsys, "export", "sqlite", recording, "-o", tmp_path / "x.sqlite", *words)
        with closing(sqlite3.connect(tmp_path / "x.sqlite")) as base:
            assert base.execute("SELECT calls FROM functions WHERE place = ?", (LEAF,)).fetchall() == [(count,)]
        printed(capsys, "svg", recording, "-o", tmp_path / "x.dot", "--all", "--weight", "calls", *words)
        assert "classes" not in (tmp_path / "x.dot").read_text()
    printed(capsys, "svg", recording, "-o", tmp_path / "x.dot", "--all", "--weight", "calls", "--steps", "all")
    assert "classes" in (tmp_path / "x.dot").read_text()


def test_the_parts_of_the_run(recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parts = steps.parts(fastdispatch.load(recording).ranks)
    text = printed(capsys, "report", recording)
    (line,) = (line for line in text.splitlines() if line.startswith("run: "))
    for part in parts:
        assert f"{part.name}{f' ({part.steps})' if part.steps else ''} {seconds(part.time)}" in line or not part.time
    document = json.loads(printed(capsys, "report", recording, "--json"))
    schemas.valid(document, "report")
    assert [part["time"] for part in document["parts"]] == [part.time for part in parts]
    assert document["step_low"] <= document["step"] <= document["step_high"]
    assert document["step_count"] == document["window"]["steps"]


def test_idle_threads_are_one_line(recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, "report", recording)
    assert "\nidle, less than 1 % on the CPU: 2 threads (idle-*)\n" in text
    assert "threading.py" not in text and re.search(r"hidden: .*\d+ of idle threads", text)
    assert re.search(r"the main thread, [\d.]+ % of it off the CPU", text)
    assert all(float(share) <= 100 for share in re.findall(r"([\d.]+) %", text))
    assert "threading.py:[Thread]:run" in printed(capsys, "report", recording, "--all")


def test_merged_ranks(recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fastdispatch.merge([recording], tmp_path / "merged.json")
    whole, merged = (printed(capsys, "report", path) for path in (recording, tmp_path / "merged.json"))
    assert merged.splitlines()[1:] == whole.splitlines()[1:]
    assert main(["report", str(tmp_path / "merged.json"), "--steps", "4:8"]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and "a dump has all steps and the settled ones" in error


@pytest.mark.parametrize("words", [("--steps", "x"), ("--steps", "4:4"), ("--steps", "ten")], ids=str)
def test_wrong_options(recording: Path, words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["report", str(recording), *words])
    assert ended.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_times_that_vary() -> None:
    """The reason for a window of the second half is stated; one skipped step is singular."""

    def text(**more: Any) -> str:
        return steps.Window(**({"first": 1, "last": 40, "steps": 40, "skipped": 1, "ended": 41} | more)).text

    usual = {"settled": True, "varying": False, "slower": 5.21}
    assert text(**usual) == "steps 1 to 40 of 41 (the first is skipped: 5.2 times as long)"
    assert text(**usual | {"slower": 1.04, "skipped": 3}).endswith("(the first 3 are skipped: their times differ)")
    assert text(**usual | {"varying": True, "skipped": 20}).endswith("(the first 20 are skipped: times vary)")
    assert text(**usual | {"settled": False, "last": 1}) == "step 1 of 41"
