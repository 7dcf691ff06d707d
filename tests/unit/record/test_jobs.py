"""fastdispatch.job: units of a pipeline schedule, in the graph, the table and the pictures."""

import json
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import fastdispatch
from tests import programs, traces


def record(work: Callable[[fastdispatch.CallGraph], object], **options: Any) -> fastdispatch.Trace:
    with fastdispatch.CallGraph(None, **{"ops": "off", "timeline": "jobs"} | options) as graph:
        work(graph)
    return fastdispatch.Trace(graph._session.trace(timeline=True))


def schedule(graph: fastdispatch.CallGraph) -> None:
    for step in range(2):
        for mb in range(2):
            with fastdispatch.job("forward", mb, stage=1, chunk=0):
                programs.leaf(step)
            with fastdispatch.job("send", mb=mb, peer=2):
                pass
        with fastdispatch.job("optimizer"):
            programs.leaf(1)
        graph.step()


KINDS = ["forward", "send", "forward", "send", "optimizer"] * 2


@pytest.mark.parametrize("options", ({}, {"timeline": False, "jobs": True}, {"timeline": True}), ids=str)
def test_each_job_is_a_row_with_its_numbers(options: dict[str, Any]) -> None:
    trace = record(schedule, **options)
    jobs = trace.jobs()
    assert jobs["kind"] == KINDS
    assert jobs["step"] == [0] * 5 + [1] * 5
    assert jobs["micro_batch"] == [0, 0, 1, 1, -1] * 2
    assert jobs["stage"] == [1, -1, 1, -1, -1] * 2
    assert jobs["chunk"] == [0, -1, 0, -1, -1] * 2
    assert jobs["peer"] == [-1, 2, -1, 2, -1] * 2
    assert jobs["iteration"] == jobs["buffer"] == jobs["device"] == [-1] * 10
    assert jobs["flags"] == jobs["bytes"] == jobs["gpu_start"] == jobs["gpu_duration"] == [0] * 10
    assert not any(jobs["open"])
    nodes = trace.nodes
    context_of = trace.contexts["node"]
    assert [nodes["key"][context_of[row]] for row in jobs["context"]] == KINDS
    assert {nodes["kind"][context_of[row]] for row in jobs["context"]} == {"job"}
    ends = [start + duration for start, duration in zip(jobs["start"], jobs["duration"], strict=True)]
    assert all(end <= start for end, start in zip(ends, jobs["start"][1:], strict=False))
    assert jobs == trace.jobs(0)


@pytest.mark.parametrize("options", ({"timeline": False}, {"timeline": "python"}, {"timing": False}), ids=str)
def test_jobs_need_no_timeline_but_times(options: dict[str, Any]) -> None:
    trace = record(schedule, **{"timeline": False} | options)
    calls = traces.calls(trace, "key")
    assert (calls["forward"], calls["send"], calls["optimizer"]) == (4, 4, 2)
    assert trace.jobs()["kind"] == ([] if "timing" in options else KINDS)
    assert not any(trace.jobs()["open"])


def test_a_timeline_without_jobs_does_not_draw_them() -> None:
    events = json.loads(record(schedule, timeline="ranges,python").export("chrome"))["traceEvents"]
    assert not {"forward", "send"} & {event["name"] for event in events}


def test_the_steps_phases_are_those_of_the_jobs() -> None:
    steps = record(schedule).ranks[0]["latest_steps"]
    assert all(steps["forward"])
    assert all(steps["optimizer"])


def test_pictures_have_them_as_slices() -> None:
    trace = record(schedule)
    jobs = trace.jobs()
    events = [event for event in json.loads(trace.export("chrome"))["traceEvents"] if event.get("cat") == "job"]
    names = [f"{kind} mb{mb}" if mb >= 0 else kind for kind, mb in zip(KINDS, jobs["micro_batch"], strict=True)]
    times = [f"({(duration + 500) // 1000 / 1000:.3f} ms)" for duration in jobs["duration"]]
    assert [event["name"] for event in events] == [" ".join(parts) for parts in zip(names, times, strict=True)]
    assert events[0]["args"] == {"step": 0, "micro_batch": 0, "stage": 1, "chunk": 0}
    assert events[-1]["args"] == {"step": 1}
    plain = json.loads(trace.export("chrome", durations="args"))["traceEvents"]
    assert [event["name"] for event in plain if event.get("cat") == "job"] == names


def test_open_jobs_have_their_numbers() -> None:
    def work(graph: fastdispatch.CallGraph) -> fastdispatch.Trace:
        with fastdispatch.job("backward", 1), fastdispatch.job("receive", mb=3, peer=2):
            programs.leaf(1)
            return fastdispatch.Trace(graph._session.trace(timeline=True))

    with fastdispatch.CallGraph(None, ops="off", timeline="jobs") as graph:
        trace = work(graph)
    jobs = trace.jobs()
    assert (jobs["kind"], jobs["open"], jobs["peer"]) == (["backward", "receive"], [True, True], [-1, 2])
    events = json.loads(trace.export("chrome"))["traceEvents"]
    assert [event["args"]["open"] for event in events if event.get("cat") == "job"] == [True, True]


def test_jobs_nest_raise_and_belong_to_their_thread() -> None:
    def work(graph: fastdispatch.CallGraph) -> None:
        same = fastdispatch.job("forward", mb=0)
        with same, same:
            programs.leaf(1)
        with pytest.raises(ZeroDivisionError), fastdispatch.job("backward"):
            _ = 1 // 0
        worker = threading.Thread(target=schedule, args=(graph,), name="stage-1")
        worker.start()
        worker.join()

    trace = record(work, timeline=True)
    jobs = trace.jobs()
    roles = trace.ranks[0]["threads"]["role"]
    assert [jobs["kind"][row] for row, at in enumerate(jobs["thread"]) if roles[at] == "main"] == [
        "forward",
        "forward",
        "backward",
    ]
    assert [jobs["kind"][row] for row, at in enumerate(jobs["thread"]) if roles[at] != "main"] == KINDS
    assert not any(jobs["open"])
    outer, inner = ((jobs["start"][i], jobs["duration"][i]) for i in range(2))
    assert outer[0] <= inner[0]
    assert inner[1] <= outer[1]


def test_a_window_that_ends_ends_its_jobs() -> None:
    def work(graph: fastdispatch.CallGraph) -> None:
        for mb in range(4):
            with fastdispatch.job("forward", mb):
                graph.step()
                programs.leaf(mb)

    trace = record(work, schedule=fastdispatch.schedule(wait=1, warmup=0, active=1))
    jobs = trace.jobs()
    # Opened in steps 1 and 3, closed when their windows had ended.
    assert jobs["micro_batch"] == [1, 3]
    assert jobs["open"] == [False, False]


def test_lost_ones_are_counted(tmp_path: Path) -> None:
    count = 2000  # more than fit into an eighth of three quarters of a megabyte

    def work(graph: fastdispatch.CallGraph) -> None:
        for mb in range(count):
            with fastdispatch.job("forward", mb):
                pass

    trace = record(work, max_mb=1)
    lost = trace.ranks[0]["counters"]["jobs_full"]
    assert 0 < lost < count
    assert len(trace.jobs()["kind"]) == count - lost
    assert trace.contexts["calls"][trace.jobs()["context"][0]] == count


def test_it_costs_next_to_nothing_and_checks_all_the_same() -> None:
    with fastdispatch.job("forward", 0, 1, 2, 3) as one:
        assert isinstance(one, fastdispatch.job)
    for arguments in ((1,), ("forward", "0"), ("forward", 1.5)):
        with pytest.raises(TypeError):
            fastdispatch.job(*arguments)  # type: ignore[arg-type]
    for number in (-1, 2**31 - 1, 2**70):
        with pytest.raises(ValueError, match=r"peer=.*: a number from 0 to 2147483646"):
            fastdispatch.job("send", peer=number)


def test_on_the_command_line(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("import fastdispatch\nwith fastdispatch.job('load', mb=1): pass\n")
    command = [sys.executable, "-m", "fastdispatch", "run", "-q", "--options=timeline=jobs", "-o", tmp_path, script]
    subprocess.run(command, check=True)
    assert fastdispatch.load(tmp_path).jobs()["micro_batch"] == [1]
    merged = fastdispatch.load(tmp_path)
    assert merged.jobs(0) == merged.jobs()
