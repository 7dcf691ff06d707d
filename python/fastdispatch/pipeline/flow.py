"""The call flow of a pipeline run: calls between functions of an engine, by stage."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from fastdispatch.read.trace import Trace

SCHEMA = "fastdispatch-flow/1"

#: Files of known engines; edges to and from their functions are the flow.
FOLDERS = ("deepspeed/runtime/pipe/", "torch/distributed/pipelining/", "megatron/core/pipeline_parallel/")


@dataclass
class Edge:
    """Calls of one function by another."""

    caller: str
    callee: str
    stages: set[int] = field(default_factory=set)  #: global stages, or ranks, of the calls
    calls: int = 0
    total: int = 0  #: ns of the calls, all stages together


@dataclass
class Flow:
    """The edges of all ranks of a recording, by the time they took."""

    edges: list[Edge]
    stages: list[int]
    by: str  #: stage; rank if the stages are unknown

    def to_json(self) -> str:
        """Return the document of docs/reference/schemas/pipeline-flow.schema.json."""
        rows = [
            {
                "caller": edge.caller,
                "callee": edge.callee,
                "stages": sorted(edge.stages),
                "calls": edge.calls,
                "total_ns": edge.total,
            }
            for edge in self.edges
        ]
        return json.dumps({"schema": SCHEMA, "by": self.by, "stages": self.stages, "edges": rows})


def flow(trace: Trace, *, all: bool = False) -> Flow:
    """Return the call flow of a recording: edges with a function of an engine at one end, with ``all`` every edge.

    A recording of one rank gives a part of the flow of all ranks.
    """
    stages_of = [_stages(rank) for rank in trace.ranks]
    by_stage = any(stages_of)
    edges: dict[tuple[str, str], Edge] = {}
    for index, rank in enumerate(trace.ranks):
        stages = stages_of[index] if by_stage else [rank["rank"]]
        for caller, callee, calls, total in _edges(trace, rank["rank"], all):
            edge = edges.setdefault((caller, callee), Edge(caller, callee))
            edge.stages.update(stages)
            edge.calls += calls
            edge.total += total
    ordered = sorted(edges.values(), key=lambda edge: (-edge.total, edge.caller, edge.callee))
    every = sorted({stage for edge in ordered for stage in edge.stages})
    return Flow(ordered, every, "stage" if by_stage else "rank")


def _stages(rank: dict[str, Any]) -> list[int]:
    facts = rank["meta"].get("pipeline")
    return [int(stage) for stage in facts.get("held", [])] if isinstance(facts, dict) else []


def _edges(trace: Trace, rank: int, all: bool) -> list[tuple[str, str, int, int]]:
    table, graph = trace.table("function", rank), trace.graph("function", rank)
    where, kinds = table["where"], [trace.nodes["kind"][node] for node in table["node"]]
    found = []
    for caller, callee, calls, total in zip(
        graph["caller"], graph["callee"], graph["calls"], graph["total"], strict=True
    ):
        if caller < 0 or not calls or not (all or kinds[caller] == kinds[callee] == "python"):
            continue
        ends = where[caller], where[callee]
        if all or any(folder in end for end in ends for folder in FOLDERS):
            found.append((*ends, calls, total))
    return found
