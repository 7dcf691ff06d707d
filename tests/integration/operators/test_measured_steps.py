"""Recordings with measured figures: every recorded step is measured, and nothing is lost or counted twice."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import torch

import fastdispatch
from fastdispatch.measures.flops import OperatorCalls
from fastdispatch.read.collectives import compared_groups
from fastdispatch.report.comm_report import comm_json, comm_rows, step_lines
from tests import traces
from tests.training import make_step

Paths = Counter[tuple[str, ...]]

Step = Callable[[], None]


def paths(trace: fastdispatch.Trace) -> Paths:
    """Calls by call path without garbage collections, whose number varies."""
    found = traces.paths(trace)
    return +Counter({path: n for path, n in found.items() if not any(key.startswith("gc:") for key in path)})


def record(work: Callable[[Step], None], folder: Path, measure: str, **options: object) -> fastdispatch.Trace:
    torch.manual_seed(0)
    with fastdispatch.CallGraph(folder, measure=measure, **options or {"steps": "all"}) as graph:
        work(graph.step)
    return fastdispatch.load(folder)


def same_as_unmeasured(work: Callable[[Step], None], folder: Path, **options: object) -> fastdispatch.Trace:
    """Record twice: without figures, and with them in all steps. Paths and calls must be equal. A first run, which is
    not recorded, imports and sets up."""
    work(lambda: None)
    plain = record(work, folder / "plain", "", **options)
    measured = record(work, folder / "measured", "flops,comm,shapes", **options)
    assert paths(measured) == paths(plain)
    for trace in (plain, measured):
        lost = trace.ranks[0]["counters"]
        assert (lost["end_without_start"], lost["async_lost"]) == (0, 0)
    return measured


def figure(trace: fastdispatch.Trace, kind: str) -> tuple[int, int]:
    """Count and sum of a kind of measures, or of derived FLOPs, over all call paths."""
    rows = trace.ranks[0]["measures"]
    found = [
        (count, total) for of, count, total in zip(rows["kind"], rows["count"], rows["sum"], strict=True) if of == kind
    ]
    found += [(each.calls, each.flops) for each in OperatorCalls(trace).of(trace.ranks[0]) if each.kind == kind]
    return sum(count for count, _ in found), sum(total for _, total in found)


def test_steps_that_optimizers_end(tmp_path: Path) -> None:
    _, train = make_step(layers=1)

    def work(_: Step) -> None:
        for _ in range(40):
            train()

    assert figure(same_as_unmeasured(work, tmp_path), "steps")[0] == 40


def test_steps_of_torch_profiler(tmp_path: Path) -> None:
    """Its ``step`` ends each step."""

    def work(_: Step) -> None:
        with torch.profiler.profile(
            activities=[torch.profiler.ProfilerActivity.CPU],
            schedule=torch.profiler.schedule(wait=0, warmup=1, active=9),
        ) as profiler:
            for _ in range(6):
                torch.ones(2, 3) @ torch.ones(3, 4)
                profiler.step()

    trace = same_as_unmeasured(work, tmp_path)
    assert figure(trace, "flops") == (6, 6 * 48)
    assert figure(trace, "steps")[0] == 6


def test_ranges_open_at_the_edge_of_a_step(tmp_path: Path) -> None:
    def work(step: Step) -> None:
        with torch.profiler.record_function("whole"):
            for number in range(6):
                inner = torch.profiler.record_function(f"begun in {'ABCDEF'[number]}")
                inner.__enter__()
                torch.ones(2, 3) @ torch.ones(3, 4)
                step()
                torch.ones(2, 3) @ torch.ones(3, 4)
                inner.__exit__(None, None, None)

    trace = same_as_unmeasured(work, tmp_path)
    assert figure(trace, "flops") == (12, 12 * 48)
    assert figure(trace, "steps")[0] == 6


def test_windows_of_a_schedule(tmp_path: Path) -> None:
    def work(step: Step) -> None:
        for _ in range(12):
            torch.ones(2, 3) @ torch.ones(3, 4)
            step()

    trace = same_as_unmeasured(work, tmp_path, schedule=fastdispatch.schedule(wait=1, warmup=0, active=3, repeat=3))
    assert figure(trace, "flops") == (9, 9 * 48)
    assert figure(trace, "steps")[0] == 9


def test_an_earlier_recording_of_some_steps(group: None, tmp_path: Path) -> None:
    """Earlier versions measured one step in N: the report names their number, and collectives are not compared."""
    with fastdispatch.CallGraph(tmp_path, measure="comm", steps="all") as graph:
        for _ in range(50):
            torch.distributed.all_reduce(torch.ones(1 << 10))
            graph.step()
    trace = fastdispatch.load(tmp_path)
    assert [of.counts[0] for of in compared_groups([trace])] == [50]
    assert list(step_lines(trace)) == []
    trace.dump(tmp_path / "old.json")
    document = json.loads((tmp_path / "old.json").read_text())
    (rank,) = document["ranks"]
    rank["meta"]["options"]["measure"] = {"comm": 16}
    rank["measures"]["count"][trace.ranks[0]["measures"]["kind"].index("steps")] = 34
    (tmp_path / "old.json").write_text(json.dumps(document))
    old = fastdispatch.load(tmp_path / "old.json")
    assert compared_groups([old]) == []
    assert next(step_lines(old)) == "calls, bytes and times of 34 measured steps of 50"
    written = comm_json(old, comm_rows(old, ""))
    assert (written["measured_steps"], written["steps"]) == (34, 50)


def test_asynchronous_records(group: None, tmp_path: Path) -> None:
    """The work of gloo ends on its own threads, after the edge of the step in which it began."""
    data = torch.ones(1 << 16)

    def work(step: Step) -> None:
        for _ in range(40):
            running = torch.distributed.all_reduce(data, async_op=True)
            step()
            running.wait()
            torch.distributed.all_reduce(data)

    trace = same_as_unmeasured(work, tmp_path)
    assert figure(trace, "comm") == (80, 80 * data.numel() * data.element_size())
    assert figure(trace, "collectives")[0] == 80
