"""The objective of PipeDream's optimizer, implemented directly from its definition.

States are sets of layers that contain all their predecessors; the recursion runs over all pairs of them. The only
convention shared with the C core is that the first source is the one with the smallest id.
"""

import math
import re
from functools import cache
from itertools import combinations, pairwise

from fastdispatch import Error
from fastdispatch.pipeline import Graph, Node, Optimum, Plan, plan
from fastdispatch.pipeline.optimum import chunks_of

State = frozenset[str]


def key(id: str) -> list[tuple[int, int | str]]:
    return [(0, int(part)) if part.isdigit() else (1, part) for part in re.findall(r"\d+|\D+", id)]


class Model:
    def __init__(self, graph: Graph) -> None:
        gone = {node.id for node in graph.nodes if node.name.startswith("Input") and not graph.inputs(node.id)}
        gone |= {node.id for node in graph.nodes if node.name.startswith("__getitem__") and not graph.outputs(node.id)}
        self.nodes: dict[str, Node] = {node.id: node for node in graph.nodes if node.id not in gone}
        self.parents = {id: {each for each in graph.inputs(id) if each not in gone} for id in self.nodes}
        self.children = {id: {each for each in graph.outputs(id) if each not in gone} for id in self.nodes}
        self.within = {id: self._needed(id) for id in self.nodes}
        self.states = self._family()
        self.whole = max(self.states, key=len)

    def _needed(self, id: str) -> State:
        found = {id}
        todo = [id]
        while todo:
            more = self.parents[todo.pop()] - found
            found |= more
            todo += more
        return frozenset(found)

    def _family(self) -> list[State]:
        sources = sorted((id for id in self.nodes if not self.parents[id]), key=key)
        states = {self.within[sources[0]]}
        todo = list(states)
        while todo:
            state = todo.pop()
            more = {child for id in state for child in self.children[id]} - state
            if not more:
                more = {source for source in sources if source not in state}
                more = {min(more, key=key)} if more else set()
            for id in more:
                new = state | self.within[id]
                if new not in states:
                    states.add(new)
                    todo.append(new)
        return sorted(states, key=len)

    def time(self, ids: State) -> float:
        return sum((self.nodes[id].forward_ms + self.nodes[id].backward_ms) / 1000 for id in ids)

    def parameters(self, ids: State) -> float:
        return sum(self.nodes[id].parameter_bytes for id in ids)

    def activations(self, ids: State) -> float:
        return sum(self.nodes[id].activation_bytes for id in ids)

    def cut(self, state: State, true: bool) -> float:
        if true:
            found = {id for id in state if not self.children[id] or self.children[id] - state}
        else:
            found = {id for id in state if not self.children[id] & state}
            for last in list(found):
                found |= {id for id in self.within[last] if self.children[id] - self.within[last]}
        return sum(self.nodes[id].activation_bytes for id in found)


def solve(
    graph: Graph,
    machines: list[int],
    bandwidths: list[float],
    *,
    compression: float | None = None,
    straight: bool = False,
    fewer: bool = False,
    true_cut: bool = False,
    memory: float | None = None,
) -> float:
    """T in seconds; infinite without a plan."""
    model = Model(graph)
    empty: State = frozenset()
    cuts = {state: model.cut(state, true_cut) for state in model.states}

    @cache
    def block(level: int, start: State, end: State) -> float:
        if level == 0:
            return model.time(end - start)
        return least(level - 1, start, end, machines[level - 1])

    def fits(level: int, start: State, end: State, count: int, after: int) -> bool:
        size = model.parameters(end - start) + model.activations(end - start)
        return memory is None or math.ceil(after / count) * size <= memory

    @cache
    def least(level: int, start: State, end: State, count: int) -> float:
        speed = bandwidths[level]
        width = machines[level - 1] if level else 1
        best = math.inf
        if (count == 1 or not straight) and fits(level, start, end, count, machines[level] - count):
            reduce = 4 * (count - 1) * model.parameters(end - start) / (speed * count) / width
            best = (block(level, start, end) + reduce) / count
        if fewer and count > 1:
            best = min(best, least(level, start, end, count - 1))
        for cut in model.states:
            if not (start < cut < end):
                continue
            for back in range(1, 2 if straight else count):
                if count == back or not fits(level, cut, end, back, machines[level] - count):
                    continue
                reduce = 4 * (back - 1) * model.parameters(end - cut) / (speed * back)
                stage = (block(level, cut, end) + reduce / (width if true_cut else 1)) / back
                if compression is not None:
                    stage = max(stage, 2 * cuts[cut] / (speed * back * compression))
                    if end != model.whole:
                        stage = max(stage, 2 * cuts[end] / (speed * back * compression))
                best = min(best, max(least(level, start, cut, count - back), stage))
        return best

    return least(len(machines) - 1, empty, model.whole, machines[-1])


def tried(graph: Graph, machines: int, bandwidth: float, compression: float | None = None) -> float:
    """T on one level, over all plans: all chains of states with all assignments of machines."""
    model = Model(graph)
    inner = [state for state in model.states if state != model.whole]
    best = math.inf
    for stages in range(1, machines + 1):
        for chosen in combinations(inner, stages - 1):
            chain = [frozenset(), *chosen, model.whole]
            if all(before < after for before, after in pairwise(chain)):
                for shares in _shares(machines, stages):
                    best = min(best, _plan_time(model, chain, shares, bandwidth, compression))
    return best


def _shares(machines: int, stages: int) -> list[list[int]]:
    if stages == 1:
        return [[machines]]
    return [
        [first, *rest] for first in range(1, machines - stages + 2) for rest in _shares(machines - first, stages - 1)
    ]


def _plan_time(
    model: Model, chain: list[State], shares: list[int], bandwidth: float, compression: float | None
) -> float:
    times = []
    for index, count in enumerate(shares):
        block = chain[index + 1] - chain[index]
        times.append((model.time(block) + 4 * (count - 1) * model.parameters(block) / (bandwidth * count)) / count)
        if compression is not None and index > 0:
            for state in (chain[index], chain[index + 1])[: 1 if chain[index + 1] == model.whole else 2]:
                times.append(2 * model.cut(state, False) / (bandwidth * count * compression))
    return max(times)


def recomputed(graph: Graph, stages: list[dict], bandwidth: float, compression: float | None, true_cut: bool) -> float:
    """T of a plan of one level, from the stages of the nodes of the graph."""
    model = Model(graph)
    stage_of = {node.id: node.stage for node in graph.nodes}
    assert all(stage_of[id] is not None for id in model.nodes)
    assert all(stage_of[first] <= stage_of[second] for first, second in graph.edges), "an edge goes backwards"
    times = []
    for index, stage in enumerate(stages):
        block = frozenset(id for id in model.nodes if stage_of[id] == index)
        before = frozenset(id for id in model.nodes if stage_of[id] < index)
        assert len(block) == stage["layers"]
        count = stage["replicas"]
        times.append((model.time(block) + 4 * (count - 1) * model.parameters(block) / (bandwidth * count)) / count)
        if compression is not None and index > 0:
            for state in (before, before | block)[: 1 if index + 1 == len(stages) else 2]:
                times.append(2 * model.cut(state, true_cut) / (bandwidth * count * compression))
    return max(times)


def scheduled(
    graph: Graph,
    machines: int,
    bandwidth: float,
    schedule: str,
    micro_batches: int,
    *,
    chunks: int = 1,
    compression: float | None = None,
    fewer: bool = False,
    straight: bool = False,
    room: float = math.inf,
    optimizer: float = 2.0,
) -> float:
    """The shortest step with a schedule, over all plans: all chains of states with all assignments of machines, each
    simulated. ``room``: bytes per machine."""
    model = Model(graph)
    inner = [state for state in model.states if state != model.whole]
    budgets = range(1, machines + 1) if fewer else [machines]
    best = math.inf
    for ranks in range(1, machines + 1):
        try:
            made = plan(schedule, ranks, micro_batches, chunks)
        except Error:
            continue
        for chosen in combinations(inner, ranks * chunks - 1):
            chain = [frozenset(), *chosen, model.whole]
            if all(before < after for before, after in pairwise(chain)):
                for shares in [shares for budget in budgets for shares in _shares(budget, ranks)]:
                    if not straight or max(shares) == 1:
                        best = min(
                            best, _simulated(model, made, chain, shares, bandwidth, compression, room, optimizer)
                        )
    return best


def step(
    found: Optimum,
    bandwidth: float,
    compression: float | None,
    room: float,
    schedule: str = "",
    micro_batches: int = 0,
) -> float:
    """The step of a plan, from the stages of the nodes of its graph."""
    about = found.schedule or {"name": schedule, "micro_batches": micro_batches}
    model = Model(found.graph)
    stage_of = {node.id: node.stage or 0 for node in found.graph.nodes if node.id in model.nodes}
    count = len(found.stages)
    chain = [frozenset(id for id, stage in stage_of.items() if stage < end) for end in range(count + 1)]
    ranks = count // chunks_of(about["name"])
    made = plan(about["name"], ranks, about["micro_batches"], chunks_of(about["name"]))
    shares = [stage["replicas"] for stage in found.stages[:ranks]]
    return _simulated(model, made, chain, shares, bandwidth, compression, room, 2.0)


def _simulated(
    model: Model,
    made: Plan,
    chain: list[State],
    shares: list[int],
    bandwidth: float,
    compression: float | None,
    room: float,
    optimizer: float,
) -> float:
    """The step of one plan; infinite if it exceeds the memory of a rank."""
    holder = {row.stage: row.rank for row in made.rows}
    forward, backward, transfer, saved = [], [], [], []
    reduce = [0.0] * made.stages
    kept = [0.0] * made.stages
    for part, (before, after) in enumerate(pairwise(chain)):
        count = shares[holder[part]]
        block = after - before
        ahead = sum(model.nodes[id].forward_ms / 1000 for id in block)
        forward.append(ahead / count)
        backward.append((model.time(block) - ahead) / count)
        sent = 0 if part == 0 or compression is None else model.cut(before, False) / (bandwidth * count * compression)
        transfer.append(sent)
        saved.append(model.activations(block) / count)
        reduce[holder[part]] += 4 * (count - 1) * model.parameters(block) / (bandwidth * count)
        kept[holder[part]] += model.parameters(block) * (2 + optimizer)
    freed = "W" if any(row.kind == "W" for row in made.rows) else "B"
    held = [0.0] * made.stages
    for row in made.rows:
        held[row.rank] += {"F": saved[row.stage], freed: -saved[row.stage]}.get(row.kind, 0)
        if kept[row.rank] + held[row.rank] > room:
            return math.inf
    simulated = made.replay(forward, backward, transfer=transfer, transfer_back=[*transfer[1:], 0])
    ends = [0.0] * made.stages
    for row, end in zip(made.rows, simulated.end, strict=True):
        if row.kind in "FBIW":
            ends[row.rank] = max(ends[row.rank], float(end))
    return max(end + more for end, more in zip(ends, reduce, strict=True))
