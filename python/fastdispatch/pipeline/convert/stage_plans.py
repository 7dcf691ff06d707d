"""What each stage of a graph computes, reads and gives: the one plan that all targets are written from.

    graph        node1 ─► node2 ─► node3(a tuple) ─► node4: [0] ─► node5
    given        stage 0  stage 0  stage 0           stage 1      stage 1
    planned      stage 0  stage 0  stage 0           stage 0      stage 1     a tensor crosses, no tuple

An item of a tuple is taken where the tuple is made. A number (``x.size(0)``) is computed in every stage that reads it.
None crosses nothing: readers have it in their code.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from fastdispatch._core import Error
from fastdispatch.pipeline.convert.imports import Import
from fastdispatch.pipeline.convert.layer_graph import LayerGraph, Names, in_order
from fastdispatch.pipeline.convert.node_operators import Operator, operator
from fastdispatch.pipeline.graph import Node


@dataclass
class StagePlan:
    """Nodes in the order of execution, and what crosses the borders of the stage, by node."""

    index: int
    nodes: list[Node]
    reads: list[str]
    gives: list[str]
    #: (node, input): in-place operators that get a copy, for the tensor has other readers.
    copies: set[tuple[str, int]] = field(default_factory=set)


@dataclass
class PackagePlan:
    graph: LayerGraph
    operators: dict[str, Operator]
    stages: list[StagePlan]
    names: Names
    #: Inputs of the model, and its outputs, by node.
    inputs: list[str]
    outputs: list[str]
    notes: list[str]

    @property
    def nothing(self) -> set[str]:
        """Nodes whose value is None."""
        return {id for id, each in self.operators.items() if each.kind == "none"}


def plan(graph: LayerGraph, imports: Mapping[str, Import], *, whole: bool = False) -> PackagePlan:
    """Read every node, place it and check that stages only feed later ones. ``whole``: all in one stage, for
    comparison, in the same order."""
    if not graph.nodes:
        raise Error("the graph has no nodes")
    graph = _placed(graph.without_dead_items())
    operators = {}
    for node in graph.nodes.values():
        sources = [graph.nodes[source] for source in graph.sources_of[node.id]]
        if not _is_input(node, graph):
            operators[node.id] = operator(node, sources, imports)
    _move_items(graph, operators)
    order = graph.ordered()
    _check_direction(graph)
    count = 1 + max(node.stage or 0 for node in order)
    inputs = in_order(id for id, node in graph.nodes.items() if _is_input(node, graph))
    made = PackagePlan(graph, operators, [], Names(graph, inputs), inputs, [], [])
    made.outputs = in_order(id for id in graph.nodes if not graph.targets_of[id] and id not in made.nothing)
    if not made.outputs:
        raise Error("the graph has no output: every output is None")
    homes = _homes(made)
    if whole:
        count, homes = 1, {id: {0} for id in homes}
    for index in range(count):
        made.stages.append(_stage(made, index, [node for node in order if index in homes[node.id]], homes))
    for stage in made.stages:
        stage.copies, notes = shared_writes(made.graph, made.operators, stage.nodes, stage.reads, stage.gives)
        made.notes += notes
    return made


def _is_input(node: Node, graph: LayerGraph) -> bool:
    return node.name.startswith("Input") and not graph.sources_of[node.id]


def _placed(graph: LayerGraph) -> LayerGraph:
    """Stages from 0 on without gaps; inputs come in at the first."""
    without = [node for node in graph.nodes.values() if node.stage is None and not _is_input(node, graph)]
    if without and any(node.stage is not None for node in graph.nodes.values()):
        raise Error(f"{without[0]}: has no stage, but other nodes have one: partition the graph again")
    numbers = sorted({node.stage or 0 for node in graph.nodes.values() if not _is_input(node, graph)}) or [0]
    for id, node in graph.nodes.items():
        stage = 0 if _is_input(node, graph) else numbers.index(node.stage or 0)
        graph.nodes[id] = replace(node, stage=stage)
    return graph


def _move_items(graph: LayerGraph, operators: Mapping[str, Operator]) -> None:
    """Move items to the stage of their tuple, along chains of items, and None to the first stage."""
    for node in graph.ordered():
        if node.name.startswith("__getitem__") and "call" not in node.about:
            (source,) = graph.sources_of[node.id]
            graph.nodes[node.id] = replace(node, stage=graph.nodes[source].stage)
        if node.id in operators and operators[node.id].kind == "none":
            graph.nodes[node.id] = replace(node, stage=0)


def _check_direction(graph: LayerGraph) -> None:
    for source, targets in graph.targets_of.items():
        for target in targets:
            before, after = graph.nodes[source], graph.nodes[target]
            if (before.stage or 0) > (after.stage or 0):
                raise Error(f"{after}: is in stage {after.stage} and reads {before} of the later stage {before.stage}")


def _homes(made: PackagePlan) -> dict[str, set[int]]:
    """The stages that compute each node: one, for numbers all that read them."""
    homes: dict[str, set[int]] = {}
    for node in reversed(made.graph.ordered()):
        targets = [homes[target] for target in made.graph.targets_of[node.id]]
        number = node.id in made.operators and made.operators[node.id].kind == "number"
        homes[node.id] = set().union(*targets) if number and targets else {node.stage or 0}
    return homes


def _stage(made: PackagePlan, index: int, nodes: list[Node], homes: Mapping[str, set[int]]) -> StagePlan:
    graph, nothing = made.graph, made.nothing
    own = {node.id for node in nodes}
    reads = {source for id in own for source in graph.sources_of[id] if source not in own} - nothing
    gives = {
        id
        for id in own
        if min(homes[id]) == index
        and id not in nothing
        and (id in made.outputs or any(target_stage not in homes[id] for target_stage in _readers(graph, homes, id)))
    }
    first = set(made.inputs) if index == 0 else set()
    return StagePlan(index, [node for node in nodes if node.id not in first], in_order(reads | first), in_order(gives))


def _readers(graph: LayerGraph, homes: Mapping[str, set[int]], id: str) -> set[int]:
    return set().union(*(homes[target] for target in graph.targets_of[id]))


def crossing(made: PackagePlan) -> list[list[str]]:
    """At each border between neighbours, all values that later stages still read or that the model returns."""
    borders = []
    for border in range(1, len(made.stages)):
        before = {id for stage in made.stages[:border] for id in (*stage.gives, *stage.reads)}
        after = {id for stage in made.stages[border:] for id in stage.reads}
        borders.append(in_order(before & (after | set(made.outputs))))
    return borders


def stage_of(stages: Sequence[StagePlan], id: str) -> int:
    """The stage that gives a value."""
    return next(stage.index for stage in stages if id in stage.gives)


def shared_writes(
    graph: LayerGraph,
    operators: Mapping[str, Operator],
    nodes: Iterable[Node],
    reads: Iterable[str],
    gives: Iterable[str],
) -> tuple[set[tuple[str, int]], list[str]]:
    """Return (node, input) of operators that need a copy, and a line where another node of the graph is the reason.

    A node is a function of its inputs: no other node may read memory that it overwrites. The operator gets a copy of
    its input if the input, or a tensor in the same memory, is read outside of the chain that leads to the operator.

        node2 Linear ─► node3 ReLU(inplace) ─► ...          no copy
        node2 Linear ─► node3 View ─► node4 ReLU(inplace)   no copy: node3 is read by node4 alone
                └─────► node5                               a copy, with node5
    """
    own = {node.id for node in nodes}
    given, outside = set(gives), set(reads)
    numbers = {id for id, operator in operators.items() if operator.kind == "number"}
    copies, notes = set(), []
    for id in own:
        written = operators[id].writes
        if written is None:
            continue
        here, reader = graph.sources_of[id][written], id
        while True:
            others = [each for each in graph.targets_of[here] if each != reader and each not in numbers]
            repeated = graph.targets_of[here].count(reader) > 1
            if others or repeated or here in given or here in outside:
                copies.add((id, written))
                if others:
                    notes.append(
                        f"{graph.nodes[id]}: writes {here} in place, which {graph.nodes[others[0]]} also reads:"
                        " the write goes to a copy"
                    )
                break
            if here not in operators or not operators[here].shares:
                break
            # A tensor in the same memory has one reader too, or the chain ends in a copy.
            sources = [each for each in graph.sources_of[here] if each not in numbers]
            if len(sources) != 1:
                if sources:
                    copies.add((id, written))
                break
            here, reader = sources[0], here
    return copies, sorted(notes)


@dataclass
class Written:
    """Files by name in the order of writing, lines to print, notes, and places."""

    files: dict[str, str] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    #: Node -> (stage, name of its layer), where it has one.
    layers: dict[str, list[tuple[int, str]]] = field(default_factory=dict)
    #: What ``model()`` calls the inputs and the outputs of the whole -> node.
    inputs: dict[str, str] = field(default_factory=dict)
    outputs: dict[str, str] = field(default_factory=dict)
    #: Places of one parameter: (stage, name).
    shared: list[list[tuple[int, str]]] = field(default_factory=list)


def configurations(stages: int, replicas: Sequence[int] | None) -> dict[str, dict[str, object]]:
    """Ranks of every stage: data parallel, one a stage, and by replicas."""
    each = [*range(stages), stages - 1]
    total = stages if replicas is None else sum(replicas)
    confs = {
        "dp_conf.json": ([0] * (stages + 1), {0: [*range(total)]}),
        "mp_conf.json": (each, {stage: [stage] for stage in range(stages)}),
    }
    if replicas is not None:
        starts = [sum(replicas[:stage]) for stage in range(stages)]
        ranks = {stage: [*range(start, start + replicas[stage])] for stage, start in enumerate(starts)}
        confs["hybrid_conf.json"] = (each, ranks)
    return {
        file: {"module_to_stage_map": modules, "stage_to_rank_map": ranks} for file, (modules, ranks) in confs.items()
    }


def configuration_text(content: dict[str, object]) -> str:
    """A configuration as its file."""
    return "{\n" + ",\n".join(f"    {json.dumps(key)}: {json.dumps(value)}" for key, value in content.items()) + "\n}\n"
