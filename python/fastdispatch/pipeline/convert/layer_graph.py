"""The graph to convert: nodes with their descriptions, stages and inputs."""

from __future__ import annotations

import heapq
import keyword
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from fastdispatch._core import Error
from fastdispatch.pipeline.graph import Graph


@dataclass(frozen=True)
class LayerNode:
    """One layer, operator or input of a model."""

    id: str
    desc: str
    stage: int | None = None
    #: Facts that the text form does not contain: "call", "module", "tied".
    about: Mapping[str, object] = field(default_factory=dict)

    def __str__(self) -> str:
        """As messages name it, in one line."""
        text = " ".join(self.desc.split())
        text = text if len(text) <= 60 else f"{text[:57]}..."
        return f"{self.id} ({text})"


@dataclass
class LayerGraph:
    """Nodes and edges in the order of their lines; the edges of a node are in the order of its arguments."""

    nodes: dict[str, LayerNode] = field(default_factory=dict)
    sources_of: dict[str, list[str]] = field(default_factory=dict)
    targets_of: dict[str, list[str]] = field(default_factory=dict)
    #: Targets of edges, each where its first edge stands.
    in_order_of_edges: dict[str, None] = field(default_factory=dict)

    def add(self, node: LayerNode) -> None:
        self.nodes[node.id] = node
        self.sources_of.setdefault(node.id, [])
        self.targets_of.setdefault(node.id, [])

    def connect(self, source: str, target: str) -> None:
        self.sources_of[target].append(source)
        self.targets_of[source].append(target)
        self.in_order_of_edges.setdefault(target)

    def remove(self, id: str) -> None:
        for target in self.targets_of.pop(id):
            self.sources_of[target].remove(id)
        for source in self.sources_of.pop(id):
            self.targets_of[source].remove(id)
        del self.nodes[id]
        self.in_order_of_edges.pop(id, None)

    def without_dead_items(self) -> LayerGraph:
        """Without the items of tuples that no node reads; profiles have many of them. One pass, as published."""
        unread = (id for id, targets in self.targets_of.items() if not targets)
        dead = [id for id in unread if self.nodes[id].desc.startswith("__getitem__")]
        for id in dead:
            self.remove(id)
        return self

    def ordered(self) -> list[LayerNode]:
        """Sources before targets, lower stages and numbers first."""
        waiting = {id: len(sources) for id, sources in self.sources_of.items()}
        ready = [(*self._rank(id), id) for id, count in waiting.items() if not count]
        heapq.heapify(ready)
        order = []
        while ready:
            id = heapq.heappop(ready)[-1]
            order.append(self.nodes[id])
            for target in self.targets_of[id]:
                waiting[target] -= 1
                if not waiting[target]:
                    heapq.heappush(ready, (*self._rank(target), target))
        if len(order) < len(self.nodes):
            stuck = next(self.nodes[id] for id, count in waiting.items() if count)
            raise Error(f"{stuck}: part of a cycle, or reads a node of a cycle: remove an edge")
        return order

    def _rank(self, id: str) -> tuple[int, tuple[tuple[int, int | str], ...]]:
        stage = self.nodes[id].stage
        return (-1 if stage is None else stage, natural(id))


@lru_cache(maxsize=4096)
def natural(text: str) -> tuple[tuple[int, int | str], ...]:
    """A key for sorting in which node10 comes after node9."""
    return tuple((0, int(part)) if part.isdigit() else (1, part) for part in re.split(r"([0-9]+)", text) if part)


def in_order(ids: Iterable[str]) -> list[str]:
    return sorted(ids, key=natural)


def from_graph(given: Graph) -> LayerGraph:
    """The graph that was read, by id."""
    graph = LayerGraph()
    for node in given.nodes:
        graph.add(LayerNode(node.id, node.name, node.stage, node.about))
    for source, target in given.edges:
        graph.connect(source, target)
    return graph


_TAKEN = {"torch", "arch", "model", "full_model", "criterion", "weights"}


class Names:
    """One number per node: ``out12``, ``layer12``; inputs of the model are ``input0``, ``input1`` ..."""

    def __init__(self, graph: LayerGraph, inputs: Sequence[str]):
        found = {id: re.fullmatch(r"\D*([0-9]{1,9})", id) for id in graph.nodes}
        numbers = {id: int(match[1]) for id, match in found.items() if match}
        if len(set(numbers.values())) < len(graph.nodes):
            numbers = {id: number for number, id in enumerate(in_order(graph.nodes), 1)}
        self._numbers = numbers
        self._inputs = {id: f"input{number}" for number, id in enumerate(inputs)}

    def value(self, id: str) -> str:
        """A variable, and what runtimes call the tensor."""
        return f"out{self._numbers[id]}"

    def wire(self, id: str) -> str:
        """What the whole model calls it."""
        return self._inputs.get(id) or self.value(id)

    def layer(self, id: str) -> str:
        return f"layer{self._numbers[id]}"


def check_names(name: str, arch: str, imported: Sequence[str]) -> None:
    """Refuse what cannot be a class and a module beside the stages."""
    for option, text in (("-n", name), ("-a", arch)):
        if not text.isidentifier() or keyword.iskeyword(text):
            raise Error(f"{option} {text}: not a Python identifier: use letters, digits and _, with no digit first")
    if re.fullmatch(r"Stage\d+", name) or name in (*_TAKEN, *imported):
        raise Error(f"-n {name}: the package already uses this name: give another one")
    if re.fullmatch(r"stage\d+|__init__", arch) or arch in _TAKEN:
        raise Error(f"-a {arch}: the package already has a module or function of this name: give another one")
