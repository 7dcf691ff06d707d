"""The shortest step under a synchronous schedule, among plans that are each simulated."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import Any, NamedTuple

from fastdispatch import _core
from fastdispatch.pipeline.graph import Graph
from fastdispatch.pipeline.optimum import Optimum, Stage, chunks_of, optimized
from fastdispatch.pipeline.plan import Plan

#: Numbers of ranks that are tried.
_TRIES = 16

Found = dict[str, Any]
#: A pipeline, and the machines of each rank.
Candidate = tuple[Found, list[int]]


class PlanSearch(NamedTuple):
    """What to plan: arguments of the planner."""

    graph: Graph
    machines: list[int]
    bandwidths: list[float]
    problem: dict[str, Any]


def shortest_step(search: PlanSearch, schedule: str, micro_batches: int, watch: array[float] | None) -> Found:
    """Return the best candidate, with its figures under the schedule."""
    best: Found = {}
    problem = search.problem
    error = _core.Error(f"{schedule}: no plan fits into {problem['room']:.4g} bytes per machine")
    for made in _candidates(search, chunks_of(schedule), watch):
        if isinstance(made, _core.Error):
            error = made
            continue
        try:
            found = _under(search, schedule, micro_batches, *made)
        except _core.Error as reason:  # no engine runs it with so many ranks
            error = reason
            continue
        if found and (not best or found["schedule"]["step_s"] < best["schedule"]["step_s"] * (1 - 1e-12)):
            best = found
    if not best:
        raise error
    return best


def _candidates(search: PlanSearch, chunks: int, watch: array[float] | None) -> Iterator[Candidate | _core.Error]:
    """Yield the fastest pipeline; then, for each number of ranks, the fastest one with one machine per stage, and equal
    stages: the fastest one if sending takes no time. An error: no such pipeline."""
    graph, (machines, *_), bandwidths, problem = search

    def solved(count: int, **changed: Any) -> Found | _core.Error:
        try:
            return optimized(graph, [count], bandwidths, **(problem | changed))
        except _core.Error as error:
            return error

    every = not problem["straight"] or problem["fewer"]
    if chunks == 1:
        found = solved(machines)
        yield found if isinstance(found, _core.Error) else (found, [stage["replicas"] for stage in found["stages"]])
    step = -(-machines // _TRIES)
    tries = sorted({1, *range(machines, 0, -step)}, reverse=True) if every else [machines]
    for number, ranks in enumerate(tries):
        for changed in ({}, {"ratio": 0.0, "memory": 0}):
            found = solved(ranks * chunks, straight=True, fewer=False, **changed)
            if isinstance(found, _core.Error):
                yield found
                continue
            if problem["straight"] or problem["fewer"]:
                yield found, [1] * ranks
            if not problem["straight"]:
                yield found, [machines // ranks + (rank < machines % ranks) for rank in range(ranks)]
        if watch is not None:
            watch[2] = (number + 1) / len(tries)


def _under(search: PlanSearch, schedule: str, micro_batches: int, found: Found, replicas: list[int]) -> Found | None:
    """Simulate a candidate. None: it does not fit into the memory."""
    graph, machines, bandwidths, problem = search
    ranks = len(replicas)
    rank_of_stage = [*range(ranks)] * chunks_of(schedule)
    if schedule == "zb-v":
        rank_of_stage[ranks:] = reversed(range(ranks))
    counts = [replicas[rank] for rank in rank_of_stage]
    stages = [*_priced(found["stages"], counts, bandwidths[0], problem["ratio"])]
    found = found | {"stages": stages, "unused": machines[0] - sum(replicas), "bound_s": None}
    found["time_per_stage_s"] = max(stage["time_s"] for stage in stages)
    made, replay = Optimum(graph, machines, bandwidths, found).replay(schedule, micro_batches)
    reduce = [0.0] * ranks
    for stage, rank in zip(stages, rank_of_stage, strict=True):
        reduce[rank] += stage["reduce_s"] * stage["replicas"]
    if problem["memory"]:
        memory = _memory(made, stages, rank_of_stage, problem["optimizer"])
        if max(memory) > problem["room"]:
            return None
        for stage, rank in zip(stages, rank_of_stage, strict=True):
            stage["memory_bytes"] = memory[rank]
    found["schedule"] = {
        "name": schedule,
        "micro_batches": micro_batches,
        "chunks": made.chunks,
        "ranks": ranks,
        "rank_of_stage": rank_of_stage,
        "step_s": max(float(last) + after for last, after in zip(replay.last, reduce, strict=True)),
    }
    return found


def _priced(stages: list[Stage], replicas: list[int], bandwidth: float, ratio: float) -> Iterator[Stage]:
    """Yield the stages of one level with their costs on other numbers of machines."""
    before = 0.0
    for index, (stage, count) in enumerate(zip(stages, replicas, strict=True)):
        speed = bandwidth * count * ratio
        made = stage | {
            "replicas": count,
            "forward_s": stage["forward_s"] * stage["replicas"] / count,
            "compute_s": stage["compute_s"] * stage["replicas"] / count,
            "reduce_s": 4 * (count - 1) * stage["parameter_bytes"] / (bandwidth * count) / count,
            "in_s": 2 * before / speed if speed else 0.0,
            "out_s": 2 * stage["sent_bytes"] / speed if speed and index else 0.0,
        }
        yield made | {"time_s": max(made["compute_s"] + made["reduce_s"], made["in_s"], made["out_s"])}
        before = stage["sent_bytes"]


def _memory(made: Plan, stages: list[Stage], rank_of_stage: list[int], optimizer: float) -> list[float]:
    """Return the peak of bytes of each rank: weights, gradients, optimizer, and what is saved for backward."""
    held = [0.0] * made.stages
    for stage, rank in zip(stages, rank_of_stage, strict=True):
        held[rank] += stage["parameter_bytes"] * (2 + optimizer)
    most = [*held]
    freed = "W" if made.schedule.startswith("zb") else "B"
    for row in made.rows:
        if row.kind in ("F", freed):
            saved = stages[row.stage]["saved_bytes"] / stages[row.stage]["replicas"]
            held[row.rank] += saved if row.kind == "F" else -saved
            most[row.rank] = max(most[row.rank], held[row.rank])
    return most
