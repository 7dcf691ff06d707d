"""Readers of a tensor that an operator writes in place.

A node is a function of its inputs: no other node may read memory that it overwrites. The operator gets a copy of its
input if the input, or a tensor in the same memory, is read outside of the chain that leads to the operator.

    node2 Linear ─► node3 ReLU(inplace) ─► ...          no copy
    node2 Linear ─► node3 View ─► node4 ReLU(inplace)   no copy: node3 is read by node4 alone
            └─────► node5                               a copy, with node5
"""

from collections.abc import Iterable, Mapping

from fastdispatch.pipeline.convert.layer_graph import LayerGraph, LayerNode
from fastdispatch.pipeline.convert.node_operators import Operator


def shared_writes(
    graph: LayerGraph,
    operators: Mapping[str, Operator],
    nodes: Iterable[LayerNode],
    reads: Iterable[str],
    gives: Iterable[str],
) -> tuple[set[tuple[str, int]], list[str]]:
    """(node, input) of each operator that needs a copy, and a line where another node of the graph is the reason."""
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
