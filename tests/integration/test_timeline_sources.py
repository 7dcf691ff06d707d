"""``fastdispatch timeline merge`` of what is no Chrome JSON: recordings of ours, logs of Paddle, and mixtures."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

import fastdispatch
from tests import processes

Event = dict[str, Any]
Trace = dict[str, Any]

RECORD = """
import sys, fastdispatch
def work(n): return sum(range(n))
with fastdispatch.CallGraph(sys.argv[1], timeline=True) as graph:
    for step in range(4):
        for _ in range(10): work(100)
        graph.step()
"""


def merge(*arguments: object, status: int = 0) -> list[str]:
    """The lines on stderr."""
    done = processes.fastdispatch("timeline", "merge", *arguments)
    assert done.returncode == status, done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr.splitlines()


def merged(folder: Path, *arguments: object) -> Trace:
    out = folder / "merged.json"
    assert merge(*arguments, "-o", out) == []
    return json.loads(out.read_text())


def named(events: Iterable[Event], what: str) -> dict[int, str]:
    """Names of processes or threads by id."""
    key = "pid" if what == "process_name" else "tid"
    return {each[key]: each["args"]["name"] for each in events if each["name"] == what}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run directory of two ranks."""
    folder = tmp_path_factory.mktemp("run") / "out"
    for rank in range(2):
        environment = processes.environment(RANK=str(rank), WORLD_SIZE="2", FASTDISPATCH_RUN_ID="7")
        subprocess.run([sys.executable, "-c", RECORD, str(folder)], env=environment, check=True)
    return folder


def slices(events: Iterable[Event]) -> list[Event]:
    return [each for each in events if each["ph"] == "X"]


def test_recordings_are_merged_as_they_are_exported(run: Path, tmp_path: Path) -> None:
    trace = merged(tmp_path, run)
    exported = json.loads(fastdispatch.load(run, timeline=True).export("chrome"))
    (host,) = {each["facts"]["host"] for each in exported["recordings"]}
    names = named(trace["traceEvents"], "process_name")
    assert sorted(names.values()) == [f"rank 0 | {host}", f"rank 1 | {host}"]
    for rank in range(2):
        old = [each for each in slices(exported["traceEvents"]) if each["pid"] == rank + 1]
        new = [each for each in slices(trace["traceEvents"]) if names[each["pid"]].startswith(f"rank {rank} ")]
        assert len(old) > 40 and len([each for each in old if each["name"] == "work"]) == 40
        assert [(each["name"], each["dur"]) for each in new] == [(each["name"], each["dur"]) for each in old]
        assert trace["metadata"][str(rank)]["recordings"][0]["facts"]["host"] == host
    assert {row["program"] for row in trace["ranks"]} == {"fastdispatch"}


def test_beside_a_trace_of_another_program(run: Path, tmp_path: Path) -> None:
    """Both programs read one wall clock."""
    exported = json.loads(fastdispatch.load(run, timeline=True).export("chrome"))
    base = exported["recordings"][0]["start"]["realtime"]
    event = {"ph": "X", "name": "op", "pid": 1, "tid": 1, "ts": 5, "dur": 1}
    profiled = {"deviceProperties": [], "distributedInfo": {"rank": 0}, "baseTimeNanoseconds": base}
    shutil.copytree(run, tmp_path / "run")
    (tmp_path / "run" / "trace.json").write_text(json.dumps(profiled | {"traceEvents": [event]}))
    trace = merged(tmp_path, tmp_path / "run")
    names = named(trace["traceEvents"], "process_name")
    assert [name.split(" | ")[0::2] for name in names.values()] == [["rank 0", "fastdispatch"], ["rank 0"], ["rank 1"]]
    assert list(names.values())[1] == "rank 0 | torch.profiler"
    (op,) = [each for each in slices(trace["traceEvents"]) if each["name"] == "op"]
    ours = [each["ts"] for each in slices(trace["traceEvents"]) if names[each["pid"]].endswith("fastdispatch")]
    assert op["ts"] - 5 <= min(ours) < op["ts"] + 1e6


def test_files_of_an_earlier_run_and_dumps(run: Path, tmp_path: Path) -> None:
    shutil.copytree(run, tmp_path / "run")
    shutil.copy(run / "rank00001.fd", tmp_path / "run" / "rank00009.fd")
    fastdispatch.load(run).dump(tmp_path / "run" / "a.json")
    lines = merge(tmp_path / "run", "-o", tmp_path / "out.json")
    assert [line.rpartition("/")[2] for line in lines] == [
        "rank00009.fd: left out: not named in manifest.json, so of an earlier run",
        "a.json: left out: a dump holds no timeline: give its recording (.fd)",
    ]
