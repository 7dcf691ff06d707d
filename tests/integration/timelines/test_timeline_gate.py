"""``timeline check`` as a gate: traits that profilers write by design are notes, and lost data is a fault."""

import json
from pathlib import Path
from typing import Any

import pytest

from fastdispatch.cli import main
from tests import commands
from tests.consumers.perfetto import open_trace, query

Event = dict[str, Any]

NAMED = {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "python"}}


def event(**fields: Any) -> Event:
    return {"ph": "X", "name": "work", "cat": "cpu_op", "pid": 1, "tid": 1, "ts": 10, "dur": 5} | fields


#: What writes it, and its events.
TRAITS: dict[str, tuple[str, list[Event]]] = {
    "PyTorch: kernel launched before the capture": (
        "flow-start",
        [
            event(cat="kernel", tid=7, args={"correlation": 3}),
            event(ph="f", id=3, cat="ac2g", name="ac2g", tid=7, bp="e"),
        ],
    ),
    "PyTorch: launch whose kernel runs after the capture": (
        "flow-end",
        [event(cat="cuda_runtime", name="cudaLaunchKernel"), event(ph="s", id=3, cat="ac2g", name="ac2g")],
    ),
    "PyTorch: flow of a launch that was filtered": (
        "flow-slice",
        [
            event(tid=7, cat="kernel"),
            event(ph="s", id=3, cat="ac2g", name="ac2g", ts=1),
            event(ph="f", id=3, cat="ac2g", name="ac2g", tid=7, bp="e"),
        ],
    ),
    "PyTorch 2.0: times rounded to microseconds": (
        "profiler-overlap",
        [event(cat="kernel", tid=7), event(cat="kernel", tid=7, ts=14, dur=3)],
    ),
    "PyTorch: a thread with a name for its number": (
        "text-id",
        [event(tid="PyTorch Profiler", cat="Trace", name="PyTorch Profiler (0)")],
    ),
    "PyTorch: a process per GPU, without labels": ("unnamed-process", [event(pid=5, cat="kernel")]),
    "HTA: every GPU named python": ("same-name", [event(), event(pid=2), NAMED | {"pid": 2}]),
    "Perfetto: slice that began before the capture": ("end", [event(ph="E")]),
    "Perfetto: slice that ends after the capture": ("begin", [event(ph="B")]),
    "VizTracer: task that began before the capture": ("async-end", [event(ph="e", id=1)]),
    "VizTracer: task that ends after the capture": ("async-begin", [event(ph="b", id=1)]),
}


def write(path: Path, events: list[Event]) -> Path:
    path.write_text(json.dumps({"traceEvents": [NAMED, *events]}))
    return path


def check(path: Path) -> tuple[int, dict[str, Any], list[str]]:
    """The status, the file in the JSON output, and the printed lines."""
    status, output, _ = commands.run("timeline", "check", "--json", path)
    (file,) = json.loads(output)["files"]
    again, output, _ = commands.run("timeline", "check", path)
    assert again == status
    return status, file, output.splitlines()


@pytest.mark.parametrize("trait", TRAITS)
def test_traits_are_notes(tmp_path: Path, trait: str) -> None:
    kind, events = TRAITS[trait]
    path = write(tmp_path / "r0.json", events)
    status, file, lines = check(path)
    assert status == 0 and file["whole"]
    assert [(row["kind"], row["broken"], row["count"]) for row in file["faults"]] == [(kind, False, 1)]
    assert lines[0] == f"{path}: whole, 1 note, {len(events) + 1} events"
    assert " (note): byte " in lines[1]


def test_a_fault_beside_a_note(tmp_path: Path) -> None:
    path = write(tmp_path / "r0.json", [event(), event(ph="f", id=1, bp="e"), event(ts=-7, tid=2)])
    status, file, lines = check(path)
    assert status == 1 and not file["whole"]
    assert {row["kind"]: row["broken"] for row in file["faults"]} == {"flow-start": False, "negative": True}
    assert lines[0] == f"{path}: broken: 1 fault, 1 note, 4 events"


@pytest.mark.parametrize("options", [(), ("--sorted",)])
def test_a_merge_counts_the_slices_that_viewers_drop(tmp_path: Path, options: tuple[str, ...]) -> None:
    kernels = [event(cat="kernel", tid=7 + at % 2, ts=10 + at * 2, dur=5) for at in range(100)]
    path = write(tmp_path / "r0.json", [event(), *kernels, event(ts=20)])
    (line,) = commands.error("timeline", "merge", path, "-o", tmp_path / "out.json", *options, status=0).splitlines()
    with open_trace(tmp_path / "out.json") as processor:
        sql = "select value from stats where name = 'slice_drop_overlapping_complete_event'"
        ((dropped,),) = [tuple(row.values()) for row in query(processor, sql)]
        assert query(processor, "select count(*) as n from slice") == [{"n": 102 - dropped}]
    assert dropped == 50
    assert line == (
        f"fastdispatch: {path}: {dropped} slices with a partial overlap within a thread: "
        "Perfetto drops such slices from Chrome JSON, not from .pftrace"
    )
    assert main(["timeline", "merge", str(path), "-o", str(tmp_path / "out.pftrace")]) == 0
    with open_trace(tmp_path / "out.pftrace") as processor:
        assert query(processor, "select count(*) as n from slice") == [{"n": 102}]
