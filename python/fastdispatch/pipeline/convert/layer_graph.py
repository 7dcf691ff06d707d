"""The graph to convert: nodes with their descriptions, stages and inputs."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from fastdispatch._core import Error
from fastdispatch.pipeline.graph import Graph, Node, topological


@dataclass
class LayerGraph:
    """Nodes and edges in the order of their lines; the edges of a node are in the order of its arguments."""

    nodes: dict[str, Node] = field(default_factory=dict)
    sources_of: dict[str, list[str]] = field(default_factory=dict)
    targets_of: dict[str, list[str]] = field(default_factory=dict)

    def add(self, node: Node) -> None:
        self.nodes[node.id] = node
        self.sources_of.setdefault(node.id, [])
        self.targets_of.setdefault(node.id, [])

    def connect(self, source: str, target: str) -> None:
        self.sources_of[target].append(source)
        self.targets_of[source].append(target)

    def remove(self, id: str) -> None:
        for target in self.targets_of.pop(id):
            self.sources_of[target].remove(id)
        for source in self.sources_of.pop(id):
            self.targets_of[source].remove(id)
        del self.nodes[id]

    def without_dead_items(self) -> LayerGraph:
        """Without the items of tuples that no node reads; profiles have many of them. One pass, as published."""
        unread = (id for id, targets in self.targets_of.items() if not targets)
        dead = [id for id in unread if self.nodes[id].name.startswith("__getitem__")]
        for id in dead:
            self.remove(id)
        return self

    def ordered(self) -> list[Node]:
        """Sources before targets, lower stages and numbers first."""
        return [self.nodes[id] for id in topological(self.sources_of, self.targets_of, self._rank)]

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
        graph.add(node)
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
