"""Rotated recordings: files of one recording that readers add up."""

from __future__ import annotations

import gc
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import fastdispatch
from fastdispatch.read import live
from tests import processes
from tests.programs import leaf

STEPS = 5
EACH = 1e-9  # seconds: each end of a step is later


@pytest.fixture(autouse=True)
def _no_collections() -> Iterator[None]:
    """Collections are calls, and begin when the process has made enough objects."""
    gc.disable()
    yield
    gc.enable()


def work(graph: fastdispatch.CallGraph, steps: int = STEPS) -> None:
    for _ in range(steps):
        leaf(1)
        leaf(2)
        graph.step()


def recorded(folder: Path, body: Callable[[fastdispatch.CallGraph], None] = work, **options: Any) -> fastdispatch.Trace:
    with fastdispatch.CallGraph(folder, ops="off", **options) as graph:
        body(graph)
    return fastdispatch.load(folder)


def paths(trace: fastdispatch.Trace) -> dict[tuple[str, ...], tuple[int, ...]]:
    """Calls, resumes and operators of each call path."""
    contexts, names = trace.contexts, []
    found: dict[tuple[str, ...], tuple[int, ...]] = {}
    for row, node in enumerate(contexts["node"]):
        parent = contexts["parent"][row]
        above: tuple[str, ...] = names[parent] if parent >= 0 else ()
        name = (*above, f"{trace.nodes['key'][node]} {contexts['module'][row]} {contexts['flags'][row] & 7}")
        names.append(name)
        figures = (contexts["calls"][row], contexts["resumes"][row], contexts["ops"][row])
        found[name] = tuple(map(sum, zip(found.get(name, (0, 0, 0)), figures, strict=True)))
    return found


def closed(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.glob("*.segment*"))


def test_segments_add_up_to_the_recording(tmp_path: Path) -> None:
    plain = recorded(tmp_path / "plain")
    rotated = recorded(tmp_path / "rotated", rotate=EACH)
    assert closed(tmp_path / "rotated") == [f"rank00000.fd.segment{number:05d}" for number in range(1, STEPS + 1)]
    assert paths(rotated) == paths(plain)
    rank = rotated.ranks[0]
    assert rank["meta"]["segments"] == {"last": STEPS + 1, "read": STEPS + 1}
    assert rank["steps"] == STEPS
    assert rank["latest_steps"]["number"] == list(range(STEPS))
    assert rank["complete"]
    assert rank["threads"]["served"] == plain.ranks[0]["threads"]["served"]
    assert rotated.whole_reason == "requested" or "rotated" in rotated.whole_reason


def test_every_segment_is_a_recording(tmp_path: Path) -> None:
    recorded(tmp_path, rotate=EACH)
    calls = 0
    ids = set()
    for name in [*closed(tmp_path), "rank00000.fd"]:
        trace = live.load_current(tmp_path / name)
        table = trace.table("node")
        calls += sum(table["calls"][row] for row, where in enumerate(table["where"]) if where.endswith(":leaf"))
        ids.add(trace.ranks[0]["id"])
        assert trace.ranks[0]["state"] == "stopped"
        assert trace.ranks[0]["complete"]
    assert calls == 2 * STEPS
    assert len(ids) == 1


def test_a_merge_in_json_has_all_segments(tmp_path: Path) -> None:
    trace = recorded(tmp_path / "run", rotate=EACH)
    fastdispatch.merge([tmp_path / "run"], tmp_path / "merged.json")
    assert paths(fastdispatch.load(tmp_path / "merged.json")) == paths(trace)


def test_commands_read_all_segments(tmp_path: Path) -> None:
    recorded(tmp_path, rotate=EACH)
    assert "rotated" in processes.fastdispatch("report", tmp_path).stdout
    refused = processes.fastdispatch("report", "--steps", "1:2", tmp_path)
    assert refused.returncode == 2
    assert "rotated" in refused.stderr
    assert processes.fastdispatch("html", tmp_path, "-o", tmp_path / "page.html").returncode == 0


def test_retention_removes_and_reports_the_oldest(tmp_path: Path) -> None:
    size = (
        (recorded(tmp_path / "size", rotate=EACH) and tmp_path / "size" / closed(tmp_path / "size")[0]).stat().st_size
    )
    kept = (1 << 20) // size
    steps = kept + 3
    trace = recorded(tmp_path / "run", lambda graph: work(graph, steps), rotate=EACH, keep_mb=1)
    assert closed(tmp_path / "run") == [f"rank00000.fd.segment{n:05d}" for n in range(steps - kept + 1, steps + 1)]
    assert trace.incomplete == [
        f"rank 0 is incomplete: {steps - kept} of its {steps + 1} segments were removed or are missing"
    ]
    assert trace.ranks[0]["steps"] == kept


def test_live_readers_see_the_current_segment(tmp_path: Path) -> None:
    with fastdispatch.CallGraph(tmp_path, ops="off", rotate=EACH) as graph:
        work(graph)
        leaf(3)
        sample = live.sample(str(tmp_path))
    assert sum(figures.calls for key, figures in sample.figures.items() if key.endswith(":leaf")) == 1
    assert sample.ranks[0]["meta"]["segments"] == {"last": STEPS + 1, "read": 1}


def test_an_earlier_recording_is_removed_with_its_segments(tmp_path: Path) -> None:
    recorded(tmp_path, rotate=EACH)
    trace = recorded(tmp_path)
    assert closed(tmp_path) == []
    assert trace.ranks[0]["steps"] == STEPS


def test_segments_of_another_recording_are_not_added(tmp_path: Path) -> None:
    recorded(tmp_path / "one", rotate=EACH)
    other = recorded(tmp_path / "two", lambda graph: work(graph, 3), rotate=EACH)
    name = closed(tmp_path / "one")[-1]
    (tmp_path / "two" / name).write_bytes((tmp_path / "one" / name).read_bytes())
    assert paths(fastdispatch.load(tmp_path / "two")) == paths(other)
    with pytest.raises(fastdispatch.Error, match="rank 0 is there already"):
        fastdispatch.load([tmp_path / "one" / "rank00000.fd", tmp_path / "two" / "rank00000.fd"])


def test_a_killed_process_loses_nothing_closed(tmp_path: Path) -> None:
    program = (
        "import sys, fastdispatch; from tests.unit.record.test_rotation import *\n"
        "graph = fastdispatch.CallGraph(sys.argv[1], ops='off', rotate=EACH); graph.start()\n"
        "work(graph); print('ready', flush=True); sys.stdin.read()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program, tmp_path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=processes.ROOT
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    process.send_signal(signal.SIGKILL)
    process.communicate()
    rank = fastdispatch.load(tmp_path).ranks[0]
    assert (rank["state"], rank["steps"]) == ("killed", STEPS)
    (tmp_path / "rank00000.fd").unlink()  # killed between two segments
    rank = fastdispatch.load(tmp_path).ranks[0]
    assert (rank["state"], rank["steps"]) == ("stopped", STEPS)


def test_a_full_disk_ends_the_recording_with_the_last_segment(tmp_path: Path) -> None:
    graph = fastdispatch.CallGraph(tmp_path, ops="off", rotate=EACH)
    graph.start()
    work(graph, 1)
    blocked = tmp_path / "rank00000.fd.segment00002"
    blocked.write_text("not a recording")
    with pytest.warns(RuntimeWarning, match="the recording ended"):
        work(graph, 2)
    assert fastdispatch.record.callgraph.current() is None
    graph.stop()
    blocked.unlink()
    assert fastdispatch.load(tmp_path).ranks[0]["steps"] == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rotate": "soon"}, "rotate='soon': expected a time"),
        ({"rotate": -1}, "rotate=-1: expected a time"),
        ({"keep_mb": 1}, "add rotate"),
        ({"rotate": "1h", "keep_mb": -1}, "must not be negative"),
        ({"rotate": "1h", "jobs": True}, "rotate and a timeline|rotate and jobs"),
        ({"rotate": "1h", "timeline": True}, "rotate and a timeline"),
        ({"rotate": "1h", "out": None}, "rotate and out=None"),
        ({"rotate": "1h", "measure": "memory"}, "rotate and measure='memory'"),
    ],
)
def test_bad_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(fastdispatch.Error, match=message):
        fastdispatch.CallGraph(**options)


@pytest.mark.torch
@pytest.mark.parametrize("ops", ["record", "dispatch"])
def test_a_training_counts_the_same(tmp_path: Path, ops: str) -> None:
    import torch

    def train(graph: fastdispatch.CallGraph) -> None:
        model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(STEPS):
            optimizer.zero_grad()
            model(torch.ones(2, 4)).sum().backward()
            optimizer.step()

    traces = []
    for name, options in (("warm", {}), ("plain", {}), ("rotated", {"rotate": EACH})):
        with fastdispatch.CallGraph(tmp_path / name, ops=ops, **options) as graph:
            train(graph)
        traces.append(fastdispatch.load(tmp_path / name))
    assert len(closed(tmp_path / "rotated")) == STEPS
    assert paths(traces[2]) == paths(traces[1])
