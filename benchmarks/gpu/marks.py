"""What kernels and marks add to a step, and what taking marks in adds between two."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from statistics import median
from time import perf_counter_ns

import torch

import fastdispatch
from benchmarks.figures import Result
from benchmarks.measure import Effort, ratios

_STEPS, _TURNS = 20, 6


def recorded(gpu: str, always: bool = True) -> fastdispatch.CallGraph:
    """A recording with marks in every step, or in sampled ones."""
    graph = fastdispatch.CallGraph(None, gpu=gpu, steps="all")
    graph._gpu_always = always
    return graph


_SIDES: dict[str, Callable[[], AbstractContextManager[object]]] = {
    "untraced": nullcontext,
    "off": lambda: recorded("off"),
    "kernels": lambda: recorded("kernels"),
    "modules, every step": lambda: recorded("modules"),
    "functions, every step": lambda: recorded("functions"),
}


def _per_step(step: Callable[[], None], side: AbstractContextManager[object], steps: int) -> float:
    """Nanoseconds per step, without start and stop of the recorder."""
    with side as graph:
        end_step = graph.step if isinstance(graph, fastdispatch.CallGraph) else lambda: None
        step()
        end_step()
        torch.cuda.synchronize()
        begin = perf_counter_ns()
        for _ in range(steps):
            step()
            end_step()
        torch.cuda.synchronize()
        return (perf_counter_ns() - begin) / steps


def cost(result: Result, step: Callable[[], None], effort: Effort) -> None:
    names = list(_SIDES)
    times: dict[str, list[float]] = {name: [] for name in names}
    for _ in range(effort.rounds):
        best = dict.fromkeys(names, float("inf"))
        for turn in range(1 if effort.quick else _TURNS):
            for name in names[turn % len(names) :] + names[: turn % len(names)]:
                best[name] = min(best[name], _per_step(step, _SIDES[name](), 2 if effort.quick else _STEPS))
        for name in names:
            times[name].append(best[name])
    result.add("step: untraced", [ns / 1e6 for ns in times["untraced"]], "ms")
    for name in names[1:]:
        result.add(f"step: {name} / untraced", ratios(times[name], times["untraced"]), "x")


def drain(result: Result, step: Callable[[], None], effort: Effort) -> None:
    """step() behind a synchronised step takes in all of its marks; that of a recording without marks takes in none."""
    values = []
    for _ in range(effort.rounds):
        with_marks, marks = _ends(step, "functions", effort)
        without, _ = _ends(step, "off", effort)
        if marks > 0:
            values.append((with_marks - without) / marks)
    if values:
        result.add("drain: a mark", values, "ns")
    else:
        result.skip("drain", "no mark was recorded")


def _ends(step: Callable[[], None], gpu: str, effort: Effort) -> tuple[float, float]:
    """Nanoseconds that step() takes, and how many marks there were a step."""
    times = []
    steps = 3 if effort.quick else _STEPS
    with recorded(gpu) as graph:
        step()
        graph.step()
        for _ in range(steps):
            step()
            torch.cuda.synchronize()
            begin = perf_counter_ns()
            graph.step()
            times.append(perf_counter_ns() - begin)
    assert graph._session is not None
    devices = fastdispatch.Trace(graph._session.trace()).ranks[0]["meta"].get("gpu_devices", {}).get("devices", [])
    return median(times), sum(device["marks"] for device in devices) / (steps + 1)
