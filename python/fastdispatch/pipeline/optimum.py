"""The result of the planner: stages of a graph of layers, and their machines."""

from __future__ import annotations

import re
from array import array
from functools import cached_property
from typing import Any

from fastdispatch import _core
from fastdispatch.pipeline.graph import Graph, Node
from fastdispatch.pipeline.plan import Plan, Replay, plan

SCHEMA = "fastdispatch-optimum/1"

Stage = dict[str, Any]


class Optimum:
    """The fastest pipeline. Made by :func:`optimize`. Times are in seconds."""

    def __init__(self, graph: Graph, machines: list[int], bandwidths: list[float], found: dict[str, Any]) -> None:
        self._graph = graph
        self._found = found
        self.machines = machines
        self.bandwidths = bandwidths
        self.layers: int = found["layers"]
        #: Number of considered places to cut; whether these are all, and all were compared.
        self.states: int = found["states"]
        self.complete: bool = found["complete"]
        self.single_machine_s: float = found["single_machine_s"]
        #: One step of the pipeline once it is full: T of the published optimizer.
        self.time_per_stage_s: float = found["time_per_stage_s"]
        #: A lower bound of all plans; equal to the time if the search is complete. None: with a schedule.
        self.bound_s: float | None = found["bound_s"]
        self.data_parallel_s: float = found["data_parallel_s"]
        #: Unused machines of the outermost level.
        self.unused: int = found["unused"]
        #: None, or the synchronous schedule: name, micro_batches, chunks (per rank), ranks, rank_of_stage, step_s (of
        #: the optimizer).
        self.schedule: dict[str, Any] | None = found.get("schedule")

    def __repr__(self) -> str:
        shape = "-".join(str(stage["replicas"]) for stage in self.stages)
        step = self.time_per_stage_s if self.schedule is None else self.schedule["step_s"]
        return f"<Optimum: {step:g} s a step, stages on {shape} machines>"

    @cached_property
    def stages(self) -> list[Stage]:
        """Stages of the outermost level; with several levels, each has ``stages`` of the level below."""
        return _nested(self._found["stages"], len(self.machines))

    @cached_property
    def leaves(self) -> list[Stage]:
        """Stages of the innermost level in the order of layers; ``stage`` of a node is an index."""
        return _leaves(self.stages)

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
        chunks = chunks_of(schedule)
        if len(forward) % chunks:
            raise _core.Error(f"{schedule}: {len(forward)} stages are not a multiple of {chunks} chunks")
        made = plan(schedule, len(forward) // chunks, micro_batches, chunks)
        transfer = [leaf["in_s"] / 2 for leaf in self.leaves]
        return made, made.replay(forward, backward, transfer=transfer, transfer_back=[*transfer[1:], 0])

    def to_dict(self) -> dict[str, Any]:
        """docs/reference/schemas/pipeline-optimize.schema.json."""
        names = ("layers", "states", "complete", "single_machine_s", "time_per_stage_s", "bound_s", "data_parallel_s")
        return {
            "schema": SCHEMA,
            "machines": self.machines,
            "bandwidths": self.bandwidths,
            **{name: self._found[name] for name in names},
            "unused": self.unused,
            "schedule": self.schedule,
            "stages": self.stages,
        }


def chunks_of(schedule: str) -> int:
    """Return the stages per rank of a schedule."""
    return 2 if schedule in ("interleaved", "zb-v") else 1


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


def _columns(graph: Graph) -> tuple[list[Node], array[float], array[int]]:
    """Return the layers to plan, sorted by id (``node9`` before ``node10``), their costs, and the edges between them.
    Sources named ``Input...`` and sinks named ``__getitem__...`` are excluded."""
    layers = [node for node in graph.nodes if not _is_excluded(graph, node)]
    layers.sort(key=lambda node: _id_order(node.id.encode()))
    number = {node.id: at for at, node in enumerate(layers)}
    costs = array("d")
    for node in layers:
        saved = -1.0 if node.saved_bytes is None else node.saved_bytes
        costs.extend((node.forward_ms, node.backward_ms, node.activation_bytes, node.parameter_bytes, saved))
    edges = array("I")
    for node in graph.order():
        for id in graph.inputs(node.id) if node.id in number else ():
            if id in number:
                edges.extend((number[id], number[node.id]))
    return layers, costs, edges


def _is_excluded(graph: Graph, node: Node) -> bool:
    source, sink = not graph.inputs(node.id), not graph.outputs(node.id)
    return (source and node.name.startswith("Input")) or (sink and node.name.startswith("__getitem__"))


def _id_order(id: bytes) -> tuple[list[tuple[int, int, bytes]], bytes]:
    """Return a key in which runs of digits are numbers."""
    parts = re.findall(rb"[0-9]+|[^0-9]", id)
    keys = [(part[0] if not part.isdigit() else ord("0"), len(part.lstrip(b"0")), part.lstrip(b"0")) for part in parts]
    return keys, id


def optimized(graph: Graph, machines: list[int], bandwidths: list[float], **problem: Any) -> dict[str, Any]:
    """Return the result of the planner, with ``stage_of_node``: the stage of each node, -1 without one."""
    layers, costs, edges = _columns(graph)
    found = _core.optimize(tuple(node.id.encode() for node in layers), costs, edges, machines, bandwidths, **problem)
    stages = dict(zip((node.id for node in layers), found.pop("stage_of_layer"), strict=True))
    for node in graph.order():  # an excluded node has the stage of a neighbour
        if node.id not in stages:
            inputs = graph.inputs(node.id)
            stages[node.id] = stages[inputs[0]] if inputs else 0
    return found | {"stage_of_node": [stages[node.id] for node in graph.nodes]}
