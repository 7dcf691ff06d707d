"""Timelines that continue in a file beside the recording: every call of every thread, for every reader."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import fastdispatch
from fastdispatch.files import run_directory
from tests import programs
from tests.processes import fastdispatch as command
from tests.processes import start

CALLS = 80_000


def closed(trace: fastdispatch.Trace) -> Counter[str]:
    """Names of the slices of calls that have ended."""
    events = json.loads(trace.export("chrome"))["traceEvents"]
    return Counter(event["name"] for event in events if event["ph"] == "X" and "args" not in event)


def threads(trace: fastdispatch.Trace) -> dict[str, Any]:
    found: dict[str, Any] = trace.ranks[0]["threads"]
    return found


def record(folder: Path, **options: Any) -> Path:
    """A recording with more calls than find room in its file, and a forked child with its own calls."""

    def work() -> None:
        for i in range(CALLS // 2):
            programs.leaf(i)
        child = os.fork()
        if child == 0:
            for i in range(1000):
                programs.leaf(i)
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        for i in range(CALLS // 2):
            programs.leaf(i)

    timeline = fastdispatch.Timeline("python", when_full="spill", **options)
    with fastdispatch.CallGraph(folder, ops="off", timeline=timeline, max_mb=1) as graph:
        work()
    assert graph.path is not None
    assert closed(fastdispatch.Trace(graph._session.trace(timeline=True)))["leaf"] <= CALLS
    return Path(graph.path)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return record(tmp_path_factory.mktemp("spilled"))


def test_nothing_is_lost(path: Path) -> None:
    trace = fastdispatch.load(path, timeline=True)
    assert closed(trace)["leaf"] == CALLS
    assert sum(threads(trace)["events_lost"]) == 0
    assert trace.ranks[0]["notes"] == []
    assert trace.ranks[0]["file_bytes"] < 768 * 1024 < run_directory.side(path).stat().st_size
    assert trace.ranks[0]["meta"]["timeline_spill"] == "rank00000.fd.events"


def test_beyond_its_bound_calls_are_lost_and_counted(tmp_path: Path) -> None:
    trace = fastdispatch.load(record(tmp_path, spill_mb=1), timeline=True)
    made, lost = (sum(threads(trace)[name]) for name in ("events", "events_lost"))
    assert 0 < lost < CALLS // 2
    assert sum(closed(trace).values()) == made - lost
    assert run_directory.side(tmp_path / "rank00000.fd").stat().st_size <= 1 << 20
    assert trace.ranks[0]["counters"]["disk_full"] == 0


def test_without_the_side_file_losses_are_reported(path: Path, tmp_path: Path) -> None:
    alone = Path(shutil.copy(path, tmp_path))
    trace = fastdispatch.load(alone, timeline=True)
    lost = sum(threads(trace)["events_lost"])
    assert trace.ranks[0]["notes"] == [f"{alone}.events is not there: {lost} events of the timeline are lost"]
    assert 0 < closed(trace)["leaf"] + lost <= sum(threads(trace)["events"])
    notes = [event["name"] for event in json.loads(trace.export("chrome"))["traceEvents"] if event["ph"] == "i"]
    assert notes == [f"{lost} events found no room in the timeline"]
    assert sum(threads(fastdispatch.load(alone))["events_lost"]) == 0  # where no timeline is expected


def test_the_side_file_moves_with_the_recording(path: Path, tmp_path: Path) -> None:
    here = tmp_path / "rank00000.fd"
    shutil.copy(path, here)
    shutil.copy(run_directory.side(path), run_directory.side(here))
    local, away = run_directory.open_folder(tmp_path), run_directory.open_folder(tmp_path / "away")
    place = run_directory.RecordingFile(away, tmp_path / "away", "rank00001.fd", local, here.name)
    assert run_directory.settle(place, 2, 3, "run") is None
    assert sorted(each.name for each in (tmp_path / "away").glob("rank*")) == ["rank00002.fd", "rank00002.fd.events"]
    assert not here.exists() and not run_directory.side(here).exists()
    assert closed(fastdispatch.load(tmp_path / "away", timeline=True))["leaf"] == CALLS


def test_a_late_rank_renames_the_side_file(tmp_path: Path) -> None:
    timeline = fastdispatch.Timeline("python", when_full="spill")
    with fastdispatch.CallGraph(tmp_path, ops="off", timeline=timeline, max_mb=1) as graph:
        for i in range(CALLS):
            programs.leaf(i)
        graph._rank, graph._world = 1, 2
    assert sorted(each.name for each in tmp_path.glob("rank*")) == ["rank00001.fd", "rank00001.fd.events"]
    assert closed(fastdispatch.load(tmp_path, timeline=True))["leaf"] == CALLS


def test_every_command_reads_it(path: Path, tmp_path: Path) -> None:
    checked = command("timeline", "check", path, "--json")
    assert checked.returncode == 0, checked.stderr
    assert json.loads(checked.stdout)["files"][0]["events"] > CALLS
    merged = tmp_path / "merged.json"
    assert command("timeline", "merge", path.parent, "-o", merged).returncode == 0
    assert Counter(event["name"] for event in json.loads(merged.read_text())["traceEvents"])["leaf"] == CALLS
    refused = command("report", run_directory.side(path))
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    assert "give the recording" in refused.stderr


def test_run_prints_the_size(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(f"def leaf(): pass\nfor i in range({CALLS}): leaf()\n")
    run = command("run", "--timeline-events", "python,spill", "--max-mb", "1", "-o", tmp_path / "out", script)
    assert "MB of timeline in rank00000.fd.events" in run.stderr
    short = command("run", "--timeline-events", "spill", "-o", tmp_path / "short", __file__)
    assert "rank00000.fd (" in short.stderr
    assert "of timeline" not in short.stderr
    assert not list((tmp_path / "short").glob("*.events"))


def test_a_killed_process_loses_nothing(tmp_path: Path) -> None:
    process = start(
        "endless.py", tmp_path, "plain", FASTDISPATCH_TEST_TIMELINE="python,spill", FASTDISPATCH_TEST_MB="1"
    )
    side = tmp_path / "rank00000.fd.events"
    assert process.stdout is not None
    process.stdout.readline()
    patience = time.monotonic() + 60
    while side.stat().st_size < 1_000_000 and time.monotonic() < patience:
        time.sleep(0.01)
    process.kill()
    process.communicate()
    trace = fastdispatch.load(tmp_path, timeline=True)
    made = sum(threads(trace)["events"])
    assert trace.ranks[0]["state"] == "killed"
    assert sum(threads(trace)["events_lost"]) == 0
    assert made - 2 <= sum(closed(trace).values()) <= made  # each of two threads may have been at its next one
    assert made > 30_000


def test_in_memory_it_stops() -> None:
    timeline = fastdispatch.Timeline("python", when_full="spill")
    with fastdispatch.CallGraph(None, ops="off", timeline=timeline, max_mb=1) as graph:
        for i in range(CALLS):
            programs.leaf(i)
    trace = fastdispatch.Trace(graph._session.trace(timeline=True))
    assert 0 < sum(threads(trace)["events_lost"]) < CALLS


@pytest.mark.parametrize(
    ("text", "timeline"),
    (
        ("spill", fastdispatch.Timeline(when_full="spill")),
        ("ops,overwrite", fastdispatch.Timeline("ops", "overwrite")),
        ("spill+python>1ms", fastdispatch.Timeline("python>1ms", "spill")),
    ),
)
def test_the_text_reports_it(text: str, timeline: fastdispatch.Timeline) -> None:
    assert fastdispatch.CallGraph(None, timeline=text)._timeline == timeline
