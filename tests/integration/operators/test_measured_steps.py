"""Measured steps between others: callbacks are exchanged at their edges, and nothing is lost or counted twice."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

import fastdispatch
from fastdispatch.measures.operator_flops import OperatorCalls
from fastdispatch.read.collectives import compared_groups
from fastdispatch.report.comm_report import comm_json, comm_rows, step_lines
from tests.training import make_step

Paths = Counter[tuple[str, ...]]

Step = Callable[[], None]


def paths(trace: fastdispatch.Trace) -> Paths:
    """Calls by call path, of all threads together, without garbage collections, whose number varies."""
    nodes, contexts = trace.nodes, trace.contexts
    found: Paths = Counter()
    keys: list[tuple[str, ...]] = []
    for parent, node, calls in zip(contexts["parent"], contexts["node"], contexts["calls"], strict=True):
        keys.append((*(keys[parent] if parent >= 0 else ()), nodes["key"][node]))
        if not any(key.startswith("gc:") for key in keys[-1]):
            found[keys[-1]] += calls
    return +found


def record(work: Callable[[Step], None], folder: Path, every: int, **options: object) -> fastdispatch.Trace:
    torch.manual_seed(0)
    with fastdispatch.CallGraph(folder / str(every), measure="flops,comm,shapes", every=every, **options) as graph:
        work(graph.step)
    return fastdispatch.load(folder / str(every))


def same_as_without_exchange(
    work: Callable[[Step], None], folder: Path, every: int = 2, **options: object
) -> tuple[fastdispatch.Trace, fastdispatch.Trace]:
    """Record twice: with the callbacks for inputs in all steps, and exchanged. Paths and calls must be equal. A first
    run, which is not recorded, imports and sets up."""
    work(lambda: None)
    always = record(work, folder, 1, **options)
    some = record(work, folder, every, **options)
    assert paths(some) == paths(always)
    for trace in (always, some):
        lost = trace.ranks[0]["counters"]
        assert (lost["end_without_start"], lost["async_lost"]) == (0, 0)
    return always, some


def figure(trace: fastdispatch.Trace, kind: str) -> tuple[int, int]:
    """Count and sum of a kind of measures, or of derived FLOPs, over all call paths."""
    rows = trace.ranks[0]["measures"]
    found = [
        (count, total) for of, count, total in zip(rows["kind"], rows["count"], rows["sum"], strict=True) if of == kind
    ]
    found += [(each.calls, each.flops) for each in OperatorCalls(trace).of(trace.ranks[0]) if each.kind == kind]
    return sum(count for count, _ in found), sum(total for _, total in found)


def test_a_training_has_the_same_tree(tmp_path: Path) -> None:
    """Six equal steps, of which two are measured: a third of the figures. An empty step comes first, so that the
    optimizer ends none."""
    _, train = make_step(layers=1)

    def work(step: Step) -> None:
        step()
        for _ in range(6):
            train()
            step()

    always, some = same_as_without_exchange(work, tmp_path, every=3)
    for kind in ("flops", "elementwise", "shapes"):
        count, total = figure(some, kind)
        assert (3 * count, 3 * total) == figure(always, kind), kind
    assert (figure(always, "steps")[0], figure(some, "steps")[0]) == (7, 3)


def test_steps_that_optimizers_end(tmp_path: Path) -> None:
    _, train = make_step(layers=1)

    def work(_: Step) -> None:
        for _ in range(5):
            train()

    always, some = same_as_without_exchange(work, tmp_path)
    assert (figure(always, "steps")[0], figure(some, "steps")[0]) == (5, 3)


def test_steps_of_torch_profiler(tmp_path: Path) -> None:
    """A range ends each step, without the GIL, inside a callback of PyTorch."""

    def work(_: Step) -> None:
        with torch.profiler.profile(
            activities=[torch.profiler.ProfilerActivity.CPU],
            schedule=torch.profiler.schedule(wait=0, warmup=1, active=9),
        ) as profiler:
            for _ in range(6):
                torch.ones(2, 3) @ torch.ones(3, 4)
                profiler.step()

    always, some = same_as_without_exchange(work, tmp_path)
    assert figure(always, "flops") == (6, 6 * 48)
    assert figure(some, "flops") == (3, 3 * 48)
    assert figure(some, "steps")[0] == 4  # and the last one, which ends with the profiler


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

    always, some = same_as_without_exchange(work, tmp_path)
    assert figure(always, "flops") == (12, 12 * 48)
    assert figure(some, "flops") == (6, 6 * 48)
    assert figure(some, "steps")[0] == 3


def test_windows_of_a_schedule(tmp_path: Path) -> None:
    def work(step: Step) -> None:
        for _ in range(12):
            torch.ones(2, 3) @ torch.ones(3, 4)
            step()

    _, some = same_as_without_exchange(
        work, tmp_path, schedule=fastdispatch.schedule(wait=1, warmup=0, active=3, repeat=3)
    )
    assert figure(some, "flops") == (3, 3 * 48)  # steps 2, 6 and 10 of the windows 1 to 3, 5 to 7 and 9 to 11


def test_threads_and_their_backward_while_steps_end(tmp_path: Path) -> None:
    """Two threads run the nodes of a long backward without the GIL, while the main thread exchanges the callbacks some
    ten thousand times: a few records begin between the two halves of an exchange (tests/c/recording/t_latest_record.c
    has all orders)."""
    rounds, length = 10, 500

    def chain(ready: threading.Barrier) -> None:
        last = first = torch.ones(1, requires_grad=True)
        ready.wait()
        for _ in range(length):
            last = last * 1.0
        for _ in range(rounds):
            last.backward(retain_graph=True)
        assert first.grad is not None

    def work(step: Step) -> None:
        ready = threading.Barrier(3)
        threads = [threading.Thread(target=chain, args=(ready,)) for _ in range(2)]
        for thread in threads:
            thread.start()
        ready.wait()
        while any(thread.is_alive() for thread in threads):
            step()
        for thread in threads:
            thread.join()

    _, some = same_as_without_exchange(work, tmp_path, calls="off")
    assert paths(some).total() >= 2 * rounds * length * 3


@pytest.mark.parametrize(("steps", "numbered"), [(20, [20]), (40, [])])
def test_numbers_of_collectives(steps: int, numbered: list[int], group: None, tmp_path: Path) -> None:
    """Without ``every``, numbers are compared as long as all steps were measured."""
    with fastdispatch.CallGraph(tmp_path, measure="comm") as graph:
        for _ in range(steps):
            torch.distributed.all_reduce(torch.ones(2))
            graph.step()
    assert [of.counts[0] for of in compared_groups([fastdispatch.load(tmp_path)])] == numbered


def test_the_report_of_communication_is_of_measured_steps(group: None, tmp_path: Path) -> None:
    data = torch.ones(1 << 10)
    with fastdispatch.CallGraph(tmp_path, measure="comm") as graph:
        for _ in range(50):
            torch.distributed.all_reduce(data)
            graph.step()
    trace = fastdispatch.load(tmp_path)
    document = comm_json(trace, comm_rows(trace, ""))
    assert (document["measured_steps"], document["steps"]) == (34, 50)
    (row,) = document["back_ends"]
    assert (row["calls"], row["bytes"]) == (34, 34 * 4096)
    assert next(step_lines(trace)).startswith("calls, bytes and times of 34 measured steps of 50")


def test_asynchronous_records(group: None, tmp_path: Path) -> None:
    """The work of gloo ends on its own threads, after the edge of the step in which it began."""
    data = torch.ones(1 << 16)

    def work(step: Step) -> None:
        for _ in range(40):
            running = torch.distributed.all_reduce(data, async_op=True)
            step()
            running.wait()
            torch.distributed.all_reduce(data)

    always, some = same_as_without_exchange(work, tmp_path)
    bytes_each = data.numel() * data.element_size()
    assert figure(always, "comm") == (80, 80 * bytes_each)
    assert figure(some, "comm") == (40, 40 * bytes_each)
    assert figure(some, "collectives")[0] == 40
