"""Graphs of typical models for the planner, generated from a seed."""

import random

from fastdispatch.pipeline import Graph, Node


class Builder:
    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.nodes: list[Node] = []
        self.edges: list[tuple[str, str]] = []

    def add(self, name: str, *inputs: str, weight: float = 1.0, parameters: float = 0.0) -> str:
        id = f"node{len(self.nodes) + 1}"
        forward = round(weight * self.draw.uniform(0.2, 3), 3)
        size = float(self.draw.randrange(1, 1 << 22) * 4)
        self.nodes.append(Node(id, name, forward, round(2 * forward, 3), (size,), parameters))
        self.edges += [(each, id) for each in inputs]
        return id

    def graph(self) -> Graph:
        return Graph(self.nodes, self.edges)


def chain(count: int, seed: int = 0) -> Graph:
    build = Builder(seed)
    last = build.add("Conv2d()")
    for _ in range(count - 1):
        last = build.add("Conv2d()", last, parameters=float(build.draw.randrange(1 << 24)))
    return build.graph()


def residual(blocks: int, seed: int = 0) -> Graph:
    """Blocks with a shortcut: two additional states per layer of the branch and its shortcut."""
    build = Builder(seed)
    last = build.add("Input0", weight=0)
    last = build.add("Conv2d()", last)
    for _ in range(blocks):
        branch = last
        for name in ("Conv2d()", "BatchNorm2d()", "ReLU(inplace)", "Conv2d()", "BatchNorm2d()"):
            branch = build.add(name, branch, parameters=float(build.draw.randrange(1 << 22)))
        short = build.add("Conv2d()", last, parameters=4e5)
        last = build.add("Add(inplace)", branch, build.add("BatchNorm2d()", short), weight=0)
    build.add("Linear()", last, parameters=8e6)
    return build.graph()


def translation(layers: int, seed: int = 0) -> Graph:
    """An encoder, and a decoder of recurrent layers with edges from the whole encoder: many valid orders."""
    build = Builder(seed)
    hidden = build.add("hidden", weight=0)
    encoder = build.add("Embedding()", build.add("Input0", weight=0), parameters=1.3e8)
    for _ in range(layers):
        recurrent = build.add("LSTM()", encoder, weight=4, parameters=5e7)
        build.add("__getitem__(1)", recurrent, weight=0)
        dropped = build.add("Dropout()", build.add("__getitem__(0)", recurrent, weight=0), weight=0.1)
        encoder = build.add("Add", dropped, encoder, weight=0)
    decoder = build.add("Embedding()", build.add("Input1", weight=0), parameters=1.3e8)
    attention = build.add("RecurrentAttention()", decoder, encoder, weight=4, parameters=6e7)
    seen = build.add("__getitem__(2)", attention, weight=0)
    decoder = build.add("__getitem__(0)", attention, weight=0)
    for layer in range(layers):
        joined = build.add("Concat(2)", build.add("Dropout()", decoder, weight=0.1), seen, weight=0)
        state = build.add(f"__getitem__({layer})", hidden, weight=0)
        recurrent = build.add("LSTM()", joined, state, weight=4, parameters=5e7)
        out = build.add("__getitem__(0)", recurrent, weight=0)
        decoder = build.add("Add", out, decoder, weight=0) if layer else out
    build.add("Classifier()", decoder, weight=4, parameters=1.3e8)
    return build.graph()


def branchy(blocks: int, lengths: tuple[int, ...], seed: int = 0) -> Graph:
    """Blocks of branches of given lengths between joins, as in Inception: numbers of states multiply."""
    build = Builder(seed)
    last = build.add("Conv2d()")
    for _ in range(blocks):
        ends = []
        for length in lengths:
            end = last
            for _ in range(length):
                end = build.add("Conv2d()", end, parameters=float(build.draw.randrange(1 << 20)))
            ends.append(end)
        last = build.add("Concat(1)", *ends, weight=0)
    return build.graph()


def nasnet(cells: int, pairs: int = 5, seed: int = 0) -> Graph:
    """Cells of pairs of separable convolutions over the outputs of the two cells before, as in NASNet: the states
    multiply, since no layer precedes all others."""
    build = Builder(seed)

    def convolution(last: str) -> str:
        for name in 2 * ("ReLU()", "Conv2d()", "Conv2d()", "BatchNorm2d()"):
            heavy = name == "Conv2d()"
            parameters = float(build.draw.randrange(1 << 20)) if heavy else 0.0
            last = build.add(name, last, weight=1 if heavy else 0.1, parameters=parameters)
        return last

    def projection(last: str) -> str:
        convolved = build.add("Conv2d()", build.add("ReLU()", last, weight=0.1))
        return build.add("BatchNorm2d()", convolved, weight=0.1)

    before = last = build.add("Conv2d()")
    for _ in range(cells):
        left, right = projection(before), projection(last)
        joined = []
        for pair in range(pairs):
            first = convolution(left if pair % 2 else right)
            second = convolution(left) if pair < 2 else build.add("AvgPool2d()", left, weight=0.1)
            joined.append(build.add("Add", first, second, weight=0.05))
        before, last = last, build.add("Concat(1)", *joined, left, weight=0.05)
    build.add("Linear()", build.add("ReLU()", last, weight=0.1), parameters=4e6)
    return build.graph()


def scattered(count: int, seed: int, edges: float = 1.6) -> Graph:
    """A random connected graph without cycles."""
    build = Builder(seed)
    draw = build.draw
    ids: list[str] = []
    for _ in range(count):
        wanted = min(
            len(ids), max(0, int(draw.expovariate(1 / edges))) if draw.random() < 0.2 else draw.choice([1, 1, 2])
        )
        inputs = draw.sample(ids, wanted)
        ids.append(build.add("Layer()", *inputs, parameters=float(draw.randrange(1 << 24))))
    return build.graph()
