"""fastdispatch and torch.profiler at the same time, in one process."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import fastdispatch
from fastdispatch.cli import main
from tests import commands, traces
from tests.consumers.perfetto import assert_clean, open_trace, query

pytestmark = pytest.mark.torch


def numbered(path: Path) -> dict[int, dict[str, Any]]:
    events = json.loads(path.read_text())["traceEvents"]
    found = [event for event in events if event.get("args", {}).get("Record function id")]
    numbers = {event["args"]["Record function id"]: event for event in found}
    assert len(numbers) == len(found)
    return numbers


def run(folder: Path, *, numbers: bool) -> None:
    import torch
    from torch.profiler import ProfilerActivity, profile

    model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    timeline = fastdispatch.Timeline(numbers=numbers)
    graph = fastdispatch.CallGraph(str(folder / "out"), ops="record", timeline=timeline)
    with graph, profile(activities=[ProfilerActivity.CPU]) as profiler:
        for _ in range(3):
            model(torch.ones(4, 8)).sum().backward()
            optimizer.step()
            optimizer.zero_grad()
    profiler.export_chrome_trace(str(folder / "rank0.json"))
    trace = fastdispatch.load(str(folder / "out"), timeline=True)
    (folder / "own.json").write_bytes(trace.export("chrome"))


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("plain")
    run(folder, numbers=False)
    return folder


def test_both_record_every_operator(plain: Path) -> None:
    theirs = json.loads((plain / "rank0.json").read_text())["traceEvents"]
    counts = Counter(event["name"] for event in theirs if event.get("cat") == "cpu_op" and "aten::" in event["name"])
    trace = fastdispatch.load(str(plain / "out"))
    assert counts["aten::addmm"] == 6
    assert numbered(plain / "own.json") == {}
    calls = traces.calls(trace)
    assert {name: calls[name] for name in counts} == counts


def test_figures_of_both_together(plain: Path, tmp_path: Path) -> None:
    both, merged = [str(plain / "out"), str(plain / "rank0.json")], str(tmp_path / "merged.json")
    main(["timeline", "merge", *both, "-o", merged])
    made, whole = (commands.document("timeline", "stats", *paths) for paths in (both, [merged]))
    files = [row.pop("files") for row in (made, whole)]
    assert made == whole
    assert [(row["rank"], row["used"]) for row in files[0]] == [(0, True), (0, True)]
    own, theirs = (json.loads((plain / name).read_text())["traceEvents"] for name in ("own.json", "rank0.json"))
    (rank,) = made["ranks"]
    assert rank["events"] == sum(event["ph"] != "M" for event in own + theirs)
    assert rank["steps"] == sum(event.get("cat") == "step" for event in own)
    assert [row["step"] for row in made["steps"]] == list(range(rank["steps"]))
    counted: Counter[str] = Counter()
    for row in made["names"]:
        counted[row["category"]] += row["count"]
    expected = Counter(event.get("cat", "") for event in own + theirs if event["ph"] in "Xb")
    # Slices around all others have no row.
    assert expected - counted == {"phase": 12, "step": rank["steps"], "Trace": 1} and not counted - expected


def test_numbers_of_operators_are_torch_profilers(tmp_path: Path) -> None:
    run(tmp_path, numbers=True)
    ours, theirs = numbered(tmp_path / "own.json"), numbered(tmp_path / "rank0.json")
    assert sum(event["name"] == "aten::addmm" for event in ours.values()) == 6
    # A call of an autograd node is known by the engine's announcement of it.
    announced = "autograd::engine::evaluate_function: "
    for number, event in ours.items():
        assert theirs[number]["name"].removeprefix(announced) == event["name"]
    left = {event["name"] for number, event in theirs.items() if number not in ours}
    assert all("aten::" not in name and announced not in name for name in left)


def test_a_merge_ties_the_two(tmp_path: Path) -> None:
    run(tmp_path, numbers=True)
    target = tmp_path / "merged.json"
    main(["timeline", "merge", str(tmp_path / "out"), str(tmp_path / "rank0.json"), "-o", str(target)])
    ours = numbered(tmp_path / "own.json")
    with open_trace(target) as trace:
        assert_clean(trace)
        tied = query(
            trace,
            """select s.name as a, t.name as b, p.name as process_a, q.name as process_b from flow
            join slice s on flow.slice_out = s.id join slice t on flow.slice_in = t.id
            join thread_track tt on s.track_id = tt.id join thread using (utid) join process p using (upid)
            join thread_track uu on t.track_id = uu.id join thread v on uu.utid = v.utid
            join process q on v.upid = q.upid where p.name != q.name""",
        )
    assert len(tied) == len(ours)
    announced = "autograd::engine::evaluate_function: "
    for row in tied:
        assert row["a"].removeprefix(announced) == row["b"].removeprefix(announced)
        assert {"fastdispatch", "torch.profiler"} <= set((row["process_a"] + " | " + row["process_b"]).split(" | "))
