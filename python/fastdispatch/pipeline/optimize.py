"""``optimize``: the fastest pipeline for a graph of layers (docs/guides/pipeline-optimize.md)."""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from fastdispatch import _core
from fastdispatch.pipeline.graph import Graph
from fastdispatch.pipeline.plan import Plan, Replay, plan

SCHEMA = "fastdispatch-optimum/1"
MEMORY = ("none", "published", "stashed", "flushed")
SYNCHRONOUS = ("gpipe", "1f1b", "interleaved", "zb-h1", "zb-v")

Stage = dict[str, Any]


class Optimum:
    """The fastest pipeline. Made by :func:`optimize`. Times are in seconds."""

    def __init__(self, graph: Graph, machines: list[int], bandwidths: list[float], found: dict[str, Any]) -> None:
        self._found = found
        #: None, or the synchronous schedule: name, micro_batches, chunks (per rank), ranks, rank_of_stage, step_s (of
        #: the optimizer), bound_s (a lower bound), proven (the plan is optimal), asynchronous_s (the step of the plan
        #: without a schedule; None: it would not run).
        self.schedule: dict[str, Any] | None = _schedule(found["schedule"])
        self._graph = graph
        self.machines = machines
        self.bandwidths = bandwidths
        self.layers: int = found["layers"]
        #: Number of considered places to cut; whether these are all, and all were compared.
        self.states: int = found["states"]
        self.complete: bool = found["complete"]
        #: Whether only some of them were considered.
        self.chains: bool = found["chains"]
        self.single_machine_s: float = found["single_machine_s"]
        #: One step of the pipeline once it is full: T of the published optimizer.
        self.time_per_stage_s: float = found["best"]["time_s"]
        #: A lower bound of all plans; equal to the time if the search is complete.
        self.bound_s: float = found["best"]["bound_s"]
        self.data_parallel_s: float = found["data_parallel_s"]
        #: Unused machines of the outermost level.
        self.unused: int = found["best"]["unused"]
        #: With one more machine at the outermost level, with twice the bandwidth; None: not requested, or no such plan.
        self.one_more_s: float | None = found["one_more_s"]
        self.twice_bandwidth_s: float | None = found["twice_bandwidth_s"]
        #: Lower bounds of these.
        self.one_more_bound_s: float | None = found["one_more_bound_s"]
        self.twice_bandwidth_bound_s: float | None = found["twice_bandwidth_bound_s"]

    def __repr__(self) -> str:
        shape = "-".join(str(stage["replicas"]) for stage in self.stages)
        step = self.time_per_stage_s if self.schedule is None else self.schedule["step_s"]
        return f"<Optimum: {step:g} s a step, stages on {shape} machines>"

    @cached_property
    def stages(self) -> list[Stage]:
        """Stages of the outermost level; with several levels, each has ``stages`` of the level below."""
        return _nested(self._found["best"]["stages"], len(self.machines))

    @cached_property
    def leaves(self) -> list[Stage]:
        """Stages of the innermost level in the order of layers; ``stage`` of a node is an index."""
        return _leaves(self.stages)

    @property
    def second(self) -> dict[str, Any] | None:
        """The best plan without one of the cuts of this one, or with a cut if this one has none: ``time_per_stage_s``,
        ``bound_s`` (a lower bound) and ``stages``, with a schedule ``step_s``."""
        found = self._found["second"]
        if found is None:
            return None
        made = {
            "time_per_stage_s": found["time_s"],
            "bound_s": found["bound_s"],
            "stages": _nested(found["stages"], len(self.machines)),
        }
        return made if self.schedule is None else made | {"step_s": self._found["schedule"]["second_s"]}

    @cached_property
    def graph(self) -> Graph:
        """The graph with the stage of each node."""
        nodes = (node.id for node in self._graph.nodes)
        stages = (None if stage < 0 else stage for stage in self._found["stage_of_node"])
        return self._graph.with_stages(dict(zip(nodes, stages, strict=True)))

    def replay(self, schedule: str, micro_batches: int) -> tuple[Plan, Replay]:
        """Simulate a synchronous schedule of these stages. A micro-batch has the times of the planned layers.

        The time of a stage is divided by its machines; the final all-reduce of gradients is not included. Schedules
        with several chunks per stage use consecutive halves of the stages."""
        forward = [leaf["forward_s"] for leaf in self.leaves]
        backward = [leaf["compute_s"] - leaf["forward_s"] for leaf in self.leaves]
        chunks = 2 if schedule in ("interleaved", "zb-v") else 1
        if self.schedule is not None and self.schedule["name"] == schedule:
            chunks = self.schedule["chunks"]
        if len(forward) % chunks:
            raise _core.Error(f"{schedule}: {len(forward)} stages are not a multiple of {chunks} chunks")
        made = plan(schedule, len(forward) // chunks, micro_batches, chunks)
        transfer = [leaf["in_s"] / 2 for leaf in self.leaves]
        return made, made.replay(forward, backward, transfer=transfer, transfer_back=[*transfer[1:], 0])

    def to_dict(self) -> dict[str, Any]:
        """docs/reference/schemas/pipeline-optimize.schema.json."""
        return {
            "schema": SCHEMA,
            "machines": self.machines,
            "bandwidths": self.bandwidths,
            "layers": self.layers,
            "states": self.states,
            "complete": self.complete,
            "single_machine_s": self.single_machine_s,
            "time_per_stage_s": self.time_per_stage_s,
            "bound_s": self.bound_s,
            "data_parallel_s": self.data_parallel_s,
            "unused": self.unused,
            "schedule": self.schedule,
            "stages": self.stages,
            "second": self.second,
            "one_more_s": self.one_more_s,
            "one_more_bound_s": self.one_more_bound_s,
            "twice_bandwidth_s": self.twice_bandwidth_s,
            "twice_bandwidth_bound_s": self.twice_bandwidth_bound_s,
        }


def _schedule(found: dict[str, Any] | None) -> dict[str, Any] | None:
    if found is None:
        return None
    ranks, chunks = found["ranks"], found["chunks"]
    rows = [[*range(ranks)]] * chunks
    if found["name"] == "zb-v":
        rows = [rows[0], rows[0][::-1]]
    made = {name: value for name, value in found.items() if name != "second_s"}
    return made | {
        "rank_of_stage": [rank for row in rows for rank in row],
        "proven": found["bound_s"] >= found["step_s"],
    }


def _nested(flat: list[Stage], levels: int) -> list[Stage]:
    made = [{name: stage[name] for name in stage if name not in ("level", "parent")} for stage in flat]
    for stage, new in zip(flat, made, strict=True):
        new["bound_by"] = _bound_by(stage)
        if stage["level"] + 1 < levels:
            made[stage["parent"]].setdefault("stages", []).append(new)
    return [new for stage, new in zip(flat, made, strict=True) if stage["level"] + 1 == levels]


def _leaves(stages: list[Stage]) -> list[Stage]:
    return [leaf for stage in stages for leaf in (_leaves(stage["stages"]) if "stages" in stage else [stage])]


def _bound_by(stage: Stage) -> str:
    """Return the largest part of the time of a stage."""
    work = {name: stage[f"{name}_s"] for name in ("compute", "reduce", "in", "out")}
    transfer = max(("in", "out"), key=lambda name: work[name])
    if work[transfer] > work["compute"] + work["reduce"]:
        return transfer
    return "compute" if work["compute"] >= work["reduce"] else "reduce"


def optimize(
    graph: Graph,
    machines: int | Sequence[int],
    bandwidths: float | Sequence[float] = 1e9,
    *,
    compression: float | None = None,
    straight: bool = False,
    fewer: bool = False,
    cut: str = "published",
    memory: str = "none",
    memory_size: float = 16e9,
    optimizer_bytes: float = 2.0,
    in_flight: int | None = None,
    max_states: int | None = None,
    second: bool = False,
    gains: bool = False,
    schedule: str | None = None,
    micro_batches: int = 8,
    chunks: int | None = None,
    watch: array[float] | None = None,
) -> Optimum:
    """Find the pipeline with the minimum time per stage (PipeDream), or with the shortest step of a schedule.

    Parameters
    ----------
    machines, bandwidths:
        One number per level, innermost first; bytes per second.
    compression:
        Compression of sent activations. None: sending takes no time, as in the published optimizer.
    straight:
        One machine per stage.
    fewer:
        Machines may stay unused.
    cut:
        "published" also counts some tensors at a cut that no later layer needs; "true" does not.
    memory:
        "none"; "published": activations and parameters once for each machine after; "stashed": weights, gradients and
        optimizer, and one version of the weights and the saved activations per micro-batch in flight (asynchronous);
        "flushed": the same with one version of the weights (synchronous).
    memory_size, optimizer_bytes, in_flight:
        Bytes of a machine; bytes of optimizer state per byte of parameters; maximum of micro-batches in flight.
    max_states:
        For a graph with more places to cut, only chains of them are considered, and ``complete`` is false.
    second, gains:
        Find the second best, and the gain of one more machine and of twice the bandwidth.
    schedule, micro_batches, chunks:
        One of ``SYNCHRONOUS``: minimise the step of the optimizer, all micro-batches and the all-reduce of gradients,
        as simulated for the schedule; one level of at most 256 machines, ``memory`` "none" or "flushed". Chunks per
        rank apply to "interleaved" (default: 2).
    watch:
        ``array("d", 3 * [0])`` that another thread may read during the search: a lower bound, the best time so far, and
        the progress of the current step, from 0 to 1.

    Raises :class:`fastdispatch.Error` if no such plan exists (more stages than layers, not enough memory), and for
    arguments out of range.
    """
    levels = [machines] if isinstance(machines, int) else list(machines)
    speeds = [float(bandwidths)] if isinstance(bandwidths, (int, float)) else [float(each) for each in bandwidths]
    if len(levels) != len(speeds):
        raise _core.Error(f"{len(levels)} numbers of machines and {len(speeds)} bandwidths: give one of each per level")
    if any(not 1 <= each < 1 << 32 for each in levels):
        raise _core.Error(f"machines {levels}: must be at least 1")
    if cut not in ("published", "true"):
        raise _core.Error(f"cut {cut!r}: published or true")
    if memory not in MEMORY:
        raise _core.Error(f"memory {memory!r}: one of {', '.join(MEMORY)}")
    if compression is not None and not (compression > 0 and math.isfinite(compression)):
        raise _core.Error(f"compression {compression}: must be above 0")
    if schedule is not None and schedule not in SYNCHRONOUS:
        raise _core.Error(f"schedule {schedule!r}: one of {', '.join(SYNCHRONOUS)}")
    limits = {"in_flight": in_flight, "max_states": max_states, "chunks": chunks, "micro_batches": micro_batches}
    for name, count in limits.items():
        if count is not None and not 1 <= count < 1 << 31:
            raise _core.Error(f"{name} {count}: must be at least 1")
    found = graph._core.optimize(
        levels,
        speeds,
        ratio=compression or 0.0,
        straight=straight,
        fewer=fewer,
        true_cut=cut == "true",
        memory=MEMORY.index(memory),
        room=float(memory_size),
        optimizer=float(optimizer_bytes),
        in_flight=in_flight or 0,
        most_states=max_states or 0,
        second=second,
        gains=gains,
        schedule=schedule,
        micro_batches=0 if schedule is None else micro_batches,
        chunks=chunks or (2 if schedule == "interleaved" else 0),
        watch=watch,
    )
    return Optimum(graph, levels, speeds, found)
