"""The shape of a graph of layers: its chains and branches, as in PipeDream's library of graphs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from fastdispatch.pipeline.graph_forms import Node

if TYPE_CHECKING:
    from fastdispatch.pipeline.graph import Graph


def compressed(graph: Graph) -> Graph:
    """Return the graph with one node per branch."""

    def is_link(id: str) -> bool:
        return len(graph.inputs(id)) == len(graph.outputs(id)) == 1

    def begins(id: str) -> bool:
        return is_link(id) and len(graph.outputs(graph.inputs(id)[0])) > 1

    head: dict[str, str] = {}
    for node in graph.order():
        head[node.id] = node.id
        if is_link(node.id):
            before = graph.inputs(node.id)[0]
            if head[before] != before or begins(before):
                head[node.id] = head[before]
    names: dict[str, str] = {}
    nodes: list[Node] = []
    number = 0
    for node in graph.nodes:
        if head[node.id] != node.id:
            continue
        if begins(node.id):
            number += 1
            names[node.id] = f"compressed_node{number}"
            nodes.append(_branch(graph, head, node, number))
        else:
            names[node.id] = node.id
            nodes.append(replace(node, about={}))
    edges = [(names[head[first]], names[head[second]]) for first, second in graph.edges if head[first] != head[second]]
    return type(graph)(nodes, edges)


def _branch(graph: Graph, head: dict[str, str], first: Node, number: int) -> Node:
    """Return the sum of a run of layers; the last output is kept."""
    run = [first]
    while head[after := graph.outputs(run[-1].id)[0]] == first.id:
        run.append(graph[after])
    alone = len(run) == 1
    saved = [node.saved_bytes for node in run if node.saved_bytes is not None]
    return replace(
        first,
        id=f"compressed_node{number}",
        name=first.name if alone else f"Branch {number}",
        forward_ms=sum(node.forward_ms for node in run),
        backward_ms=sum(node.backward_ms for node in run),
        output_bytes=run[-1].output_bytes,
        parameter_bytes=sum(node.parameter_bytes for node in run),
        forward_spread_ms=first.forward_spread_ms if alone else None,
        backward_spread_ms=first.backward_spread_ms if alone else None,
        saved_bytes=sum(saved) if len(saved) == len(run) else None,
        about={},
    )


def is_series_parallel(graph: Graph) -> bool:
    """Return whether removing nodes with one predecessor and one successor reduces the graph to one edge."""
    before = {node.id: set(graph.inputs(node.id)) for node in graph.nodes}
    behind = {node.id: set(graph.outputs(node.id)) for node in graph.nodes}
    todo = [node.id for node in graph.order()]
    while todo:
        id = todo.pop()
        if id in before and len(before[id]) == len(behind[id]) == 1:
            (first,), (second,) = before.pop(id), behind.pop(id)
            behind[first] = behind[first] - {id} | {second}
            before[second] = before[second] - {id} | {first}
            todo += first, second
    return len(before) <= 2


def is_same(graph: Graph, other: Graph) -> bool:
    """Compare the hashes of all nodes, of their names and of all nodes before and after them."""
    return len(graph.edges) == len(other.edges) and _hashes(graph) == _hashes(other)


def _hashes(graph: Graph) -> list[int]:
    order = graph.order()
    names = {node.id: hash(node.name) for node in order}
    before = _side([node.id for node in order], names, graph.inputs)
    return sorted(_side([node.id for node in reversed(order)], before, graph.outputs).values())


def _side(order: list[str], start: dict[str, int], near: Callable[[str], list[str]]) -> dict[str, int]:
    found: dict[str, int] = {}
    for id in order:
        found[id] = hash((start[id], *sorted(found[each] for each in near(id))))
    return found
