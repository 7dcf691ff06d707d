"""``Graph``: a model as a graph of layers with their costs (docs/formats/pipeline-graph.md)."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import cached_property
from heapq import heapify, heappop, heappush
from typing import Any

from fastdispatch import _core
from fastdispatch.files.output import write
from fastdispatch.files.regular import read_bytes
from fastdispatch.pipeline.graph_forms import SCHEMA, Content, Node, parse, read_document, to_json, to_text

__all__ = ["Graph", "Node"]


class Graph:
    """A model as a graph without cycles. It does not change.

    Parameters
    ----------
    nodes:
        Their order is kept.
    edges:
        (from, to), by id. Among the edges to a node their order is that of its arguments; two equal edges are two
        arguments.
    about:
        Facts on the whole that only the JSON form has.

    Raises :class:`fastdispatch.Error` for ids that are there twice or not at all, cycles, and figures that are negative
    or not finite.
    """

    def __init__(
        self, nodes: Iterable[Node], edges: Iterable[tuple[str, str]] = (), about: Mapping[str, Any] | None = None
    ) -> None:
        document = {
            "schema": SCHEMA,
            "about": about or {},
            "nodes": [asdict(node) for node in nodes],
            "edges": [list(edge) for edge in edges],
        }
        try:
            text = json.dumps(document, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise _core.Error(f"graph: {error}") from None
        self._set(read_document(json.loads(text), "graph"), "graph")

    @classmethod
    def parse(cls, text: str | bytes, where: str = "graph") -> Graph:
        """Read the text or JSON form. Messages begin with ``where`` and the line."""
        if isinstance(text, bytes):
            try:
                text = text.decode()
            except UnicodeDecodeError as error:
                raise _core.Error(f"{where}: not text: byte {error.start} is not UTF-8") from None
        made = cls.__new__(cls)
        made._set(parse(text, where), where)
        return made

    def _set(self, content: Content, where: str) -> None:
        self._content = content
        #: In the order of the file.
        self.nodes: list[Node] = [*content.nodes.values()]
        #: (from, to) by id, in the order of the file.
        self.edges: list[tuple[str, str]] = content.edges
        self.about: dict[str, Any] = content.about
        self._order = _sorted(self, where)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Graph:
        """Read a file in either form."""
        try:
            content = read_bytes(path)
        except OSError as error:
            raise _core.Error(f"{os.fspath(path)}: cannot read: {error.strerror}") from None
        made = cls.parse(content, os.fspath(path))
        if not made.nodes:
            raise _core.Error(f"{os.fspath(path)}: not a graph: it has no nodes")
        return made

    def to_text(self) -> str:
        """Return the text form of other planners, without a final newline."""
        return to_text(self._content)

    def to_json(self) -> str:
        """docs/reference/schemas/pipeline-graph.schema.json."""
        return to_json(self._content)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write JSON if the name ends in ``.json``, else the text form."""
        text = self.to_json() if os.fspath(path).endswith(".json") else self.to_text()
        write(path, text.encode())

    def __len__(self) -> int:
        return len(self.nodes)

    def __repr__(self) -> str:
        return f"<Graph: {len(self.nodes)} nodes, {len(self.edges)} edges>"

    def __getitem__(self, id: str) -> Node:
        """Return a node by its id; ``KeyError``."""
        return self._content.nodes[id]

    def inputs(self, id: str) -> list[str]:
        """Return the ids of the inputs of a node, in the order of its arguments."""
        return self._neighbours[0][id]

    def outputs(self, id: str) -> list[str]:
        """Return the ids of the users of a node, in the order of the edges."""
        return self._neighbours[1][id]

    @cached_property
    def _neighbours(self) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
        inputs: dict[str, list[str]] = {node.id: [] for node in self.nodes}
        outputs: dict[str, list[str]] = {node.id: [] for node in self.nodes}
        for first, second in self.edges:
            inputs[second].append(first)
            outputs[first].append(second)
        return inputs, outputs

    def order(self) -> list[Node]:
        """Return a topological order; among several nodes the first in the file is next."""
        return [self[id] for id in self._order]

    def sources(self) -> list[Node]:
        """Return nodes without inputs, in the order of the file."""
        return [node for node in self.nodes if not self.inputs(node.id)]

    def sinks(self) -> list[Node]:
        """Return nodes without users, in the order of the file."""
        return [node for node in self.nodes if not self.outputs(node.id)]

    def depths(self) -> dict[str, int]:
        """Return the maximum number of edges from a source, by id."""
        found: dict[str, int] = {}
        for node in self.order():
            found[node.id] = max((found[id] + 1 for id in self.inputs(node.id)), default=0)
        return found

    def heights(self) -> dict[str, int]:
        """Return the maximum number of edges to a sink, by id."""
        found: dict[str, int] = {}
        for node in reversed(self.order()):
            found[node.id] = max((found[id] + 1 for id in self.outputs(node.id)), default=0)
        return found

    def parts(self) -> dict[int | None, Graph]:
        """Return one graph per stage, in order, with the edges within it. Nodes without a stage are under None."""
        stages = {node.id: node.stage for node in self.nodes}
        edges: dict[int | None, list[tuple[str, str]]] = {stage: [] for stage in stages.values()}
        for first, second in self.edges:
            if stages[first] == stages[second]:
                edges[stages[first]].append((first, second))
        order = sorted(edges, key=lambda stage: -1 if stage is None else stage)
        nodes = {stage: [node for node in self.nodes if node.stage == stage] for stage in order}
        return {stage: Graph(nodes[stage], edges[stage], self.about) for stage in order}

    def compressed(self) -> Graph:
        """Return the graph with one node per branch: a run of nodes with one input and one output after a node with
        several users. Times and parameters are added up, the last output is kept."""

        def is_link(id: str) -> bool:
            return len(self.inputs(id)) == len(self.outputs(id)) == 1

        def begins(id: str) -> bool:
            return is_link(id) and len(self.outputs(self.inputs(id)[0])) > 1

        head: dict[str, str] = {}
        for node in self.order():
            head[node.id] = node.id
            if is_link(node.id):
                before = self.inputs(node.id)[0]
                if head[before] != before or begins(before):
                    head[node.id] = head[before]
        names: dict[str, str] = {}
        nodes: list[Node] = []
        number = 0
        for node in self.nodes:
            if head[node.id] != node.id:
                continue
            if begins(node.id):
                number += 1
                names[node.id] = f"compressed_node{number}"
                nodes.append(_branch(self, head, node, number))
            else:
                names[node.id] = node.id
                nodes.append(replace(node, about={}))
        edges = [
            (names[head[first]], names[head[second]]) for first, second in self.edges if head[first] != head[second]
        ]
        return Graph(nodes, edges)

    def is_series_parallel(self) -> bool:
        """Return whether removing nodes with one predecessor and one successor reduces the graph to one edge."""
        before = {node.id: set(self.inputs(node.id)) for node in self.nodes}
        behind = {node.id: set(self.outputs(node.id)) for node in self.nodes}
        todo = [node.id for node in self.order()]
        while todo:
            id = todo.pop()
            if id in before and len(before[id]) == len(behind[id]) == 1:
                (first,), (second,) = before.pop(id), behind.pop(id)
                behind[first] = behind[first] - {id} | {second}
                before[second] = before[second] - {id} | {first}
                todo += first, second
        return len(before) <= 2

    def is_same(self, other: Graph) -> bool:
        """Return whether two graphs have the same names and edges, except for ids and the order of lines. False is
        always right; graphs that differ only in the connections of equal layers may be considered the same."""
        return len(self.edges) == len(other.edges) and _hashes(self) == _hashes(other)

    def before(self, id: str) -> set[str]:
        """Return the ids of all direct and indirect inputs of a node."""
        return _reached(id, self.inputs)

    def behind(self, id: str) -> set[str]:
        """Return the ids of all direct and indirect users of a node."""
        return _reached(id, self.outputs)

    def augmented(self, ids: Iterable[str]) -> set[str]:
        """Return the nodes of an antichain, and nodes before each of them with users outside of it and its inputs."""
        found = set(ids)
        for id in list(found):
            within = self.before(id) | {id}
            found |= {each for each in within if not within.issuperset(self.outputs(each))}
        return found | set(ids)

    def latest(self, ids: Iterable[str]) -> set[str]:
        """Return the nodes that no other of these nodes depends on: an antichain."""
        given = set(ids)
        return {id for id in given if given.isdisjoint(self.behind(id))}

    def next_antichains(self, ids: Iterable[str]) -> list[set[str]]:
        """Return the next antichains: each with one more node that has an input in it."""
        within = set(ids).union(*(self.before(id) for id in ids))
        more = {
            child: None
            for id in self._content.nodes
            if id in within
            for child in self.outputs(id)
            if child not in within
        }
        return [self.latest(self.before(child) | within | {child}) for child in more]

    def antichains(self) -> dict[frozenset[str], list[frozenset[str]]]:
        """Yield each antichain from the first source on, with the next ones: the places where a model can be cut. There
        may be very many."""
        first = next(node.id for node in self.nodes if not self.inputs(node.id))
        found: dict[frozenset[str], list[frozenset[str]]] = {}
        todo = [frozenset([first])]
        while todo:
            each = todo.pop()
            if each not in found:
                found[each] = [frozenset(ids) for ids in self.next_antichains(each)]
                todo += found[each]
        return found

    def totals(self) -> dict[str, float]:
        """Return sums over all nodes: forward_ms, backward_ms, activation_bytes, parameter_bytes."""
        names = ("forward_ms", "backward_ms", "activation_bytes", "parameter_bytes")
        return {name: float(sum(getattr(node, name) for node in self.nodes)) for name in names}

    def without(self, ids: Iterable[str] = (), edges: Iterable[tuple[str, str]] = ()) -> Graph:
        """Return the graph without some nodes and their edges, and without some edges. ``KeyError`` for unknown
        ones."""
        nodes, gone = {node.id: node for node in self.nodes}, set(edges)
        for id in ids:
            del nodes[id]
        for edge in gone.difference(self.edges):
            raise KeyError(edge)
        kept = [edge for edge in self.edges if edge not in gone and edge[0] in nodes and edge[1] in nodes]
        return Graph(list(nodes.values()), kept, self.about)

    def with_stages(self, stages: Mapping[str, int | None]) -> Graph:
        """Return the graph with other stages, by id; other nodes have none."""
        nodes = [replace(node, stage=stages.get(node.id)) for node in self.nodes]
        return Graph(nodes, self.edges, self.about)


def topological(
    inputs: Mapping[str, Sequence[str]], outputs: Mapping[str, Sequence[str]], key: Callable[[str], Any]
) -> list[str]:
    """Return ids after those of their inputs; of several ids, the one with the lowest key is next. Ids of a cycle, and
    ids behind one, are skipped."""
    waits = {id: len(before) for id, before in inputs.items()}
    ready = [(key(id), id) for id, count in waits.items() if not count]
    heapify(ready)
    order: list[str] = []
    while ready:
        order.append(heappop(ready)[1])
        for id in outputs[order[-1]]:
            waits[id] -= 1
            if not waits[id]:
                heappush(ready, (key(id), id))
    return order


def _sorted(graph: Graph, where: str) -> list[str]:
    places = {node.id: place for place, node in enumerate(graph.nodes)}
    order = topological(*graph._neighbours, places.__getitem__)
    waiting = places.keys() - order
    if waiting:
        raise _core.Error(f"{where}: a cycle: {_cycle(graph, waiting)}")
    return order


def _cycle(graph: Graph, waiting: set[str]) -> str:
    """Follow nodes without a place backward. After as many steps as there are nodes, the node is on a cycle."""

    def needed(id: str) -> str:
        return next(other for other in graph.inputs(id) if other in waiting)

    id = next(node.id for node in graph.nodes if node.id in waiting)
    for _ in graph.nodes:
        id = needed(id)
    path, last = [id], needed(id)
    while last != id and len(path) < 9:
        path.append(last)
        last = needed(last)
    return " needs ".join(each[:60] for each in [*path, last]) + ("" if last == id else "...")


def _reached(id: str, following: Callable[[str], list[str]]) -> set[str]:
    found: set[str] = set()
    todo = [*following(id)]
    while todo:
        each = todo.pop()
        if each not in found:
            found.add(each)
            todo += following(each)
    return found


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
