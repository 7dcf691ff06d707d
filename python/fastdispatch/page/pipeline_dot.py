"""Graphviz source of a graph of layers: stages as clusters, bytes on the edges between stages."""

from collections.abc import Sequence

from fastdispatch.pipeline.graph import Graph, Node
from fastdispatch.text.formats import printable

_COLOURS = ("#cfe2f3", "#d9ead3", "#fff2cc", "#f4cccc", "#d9d2e9", "#d0e0e3", "#fce5cd", "#ead1dc")
_NAME = 36


def _quoted(text: str) -> str:
    return '"' + printable(text.replace("\n", " ")).replace("\\", "\\\\").replace('"', '\\"') + '"'


def _bytes(size: float) -> str:
    for unit in ("B", "KB", "MB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} GB"


def _label(node: Node) -> str:
    name = node.name.replace("\n", " ")
    name = name if len(name) <= _NAME else name[: _NAME - 3] + "..."
    figures = []
    if node.forward_ms or node.backward_ms:
        figures.append(f"{node.forward_ms:.3g} + {node.backward_ms:.3g} ms")
    if node.parameter_bytes:
        figures.append(f"{_bytes(node.parameter_bytes)} parameters")
    return "\n".join([name, ", ".join(figures)] if figures else [name])


def _node(node: Node) -> str:
    label = "\\n".join(_quoted(line)[1:-1] for line in _label(node).split("\n"))
    colour = "white" if node.stage is None else _COLOURS[node.stage % len(_COLOURS)]
    return f'{_quoted(node.id)} [label="{label}", fillcolor="{colour}", tooltip={_quoted(f"{node.id}: {node.name}")}];'


def dot_of(graph: Graph, titles: Sequence[str] = ()) -> bytes:
    """Return Graphviz source. ``titles``: names of stages, by default their numbers."""
    lines = [
        "digraph model {",
        'graph [rankdir=TB, fontname="Helvetica", newrank=true];',
        'node [shape=box, style="filled,rounded", fontname="Helvetica", fontsize=10, color="#888888"];',
        'edge [fontname="Helvetica", fontsize=10, color="#666666"];',
    ]
    for stage in sorted({node.stage for node in graph.nodes if node.stage is not None}):
        title = titles[stage] if stage < len(titles) else f"stage {stage}"
        lines.append(f"subgraph cluster_{stage} {{ label={_quoted(title)}; color={_quoted('#444444')};")
        lines += [f"  {_node(node)}" for node in graph.nodes if node.stage == stage]
        lines.append("}")
    lines += [_node(node) for node in graph.nodes if node.stage is None]
    for first, second in graph.edges:
        cut = ""
        if graph[first].stage != graph[second].stage:
            size = graph[first].activation_bytes
            label = f'label="{_bytes(size)}", ' if size else ""
            cut = f' [{label}color="#c0392b", fontcolor="#c0392b", penwidth=2]'
        lines.append(f"{_quoted(first)} -> {_quoted(second)}{cut};")
    return ("\n".join([*lines, "}"]) + "\n").encode()
