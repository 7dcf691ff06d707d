"""The classic style of a picture, as in the scripts of Megatron-DeepSpeed."""

from collections.abc import Iterator

from fastdispatch.graphs.box_graph import BoxGraph, stacked
from fastdispatch.graphs.dot_parts import box_tooltip, edge_tooltip, ends, layout_limits, placed
from fastdispatch.graphs.dot_text import label_text

#: Boxes without callees on a line; characters of a part of a path.
_LEAVES, _PART = 12, 120

#: Half of the width of a large graph would be space between lines.
_NARROW = ", nodesep=0.02"

_HEAD = """\
digraph callgraph {{
graph [bgcolor=gray, ratio=compress, nodesep=0.08{limits}]
node [shape=plaintext, style=filled, fontsize=16]
node [margin="0.04,0.03"]
edge [penwidth=2.0]
"""

#: Colours of edges, by their caller. Boxes are numbered in the order of the call tree, so neighbours differ.
_COLOURS = ("E6194B", "3CB44B", "4363D8", "F58231", "911EB4", "008080", "F032E6", "9A6324", "000075", "808000")


def classic_lines(graph: BoxGraph, leaves: int) -> Iterator[str]:
    """Yield the text. ``leaves``: the most boxes without callees on a line; 0: the default."""
    yield _HEAD.format(limits=layout_limits(graph, _NARROW))
    above = stacked(list(graph.boxes.values()), leaves or _LEAVES)
    for node, box in graph.boxes.items():
        fill, label = _fill(graph.tree.nodes["file"][node]), _label(graph.tree.nodes["key"][node])
        yield f'n{box.number} [fillcolor="{fill}", label="{label}", tooltip="{box_tooltip(graph, box)}"]\n'
        yield from placed(box, above)
    for edge in graph.edges:
        colour = _COLOURS[edge.caller.number % len(_COLOURS)]
        yield f'{ends(edge)} [color="#{colour}", tooltip="{edge_tooltip(graph, edge)}"]\n'
    yield "}\n"


def _fill(file: str) -> str:
    if "/megatron/" in f"/{file}":
        return "#73FBFD"
    return "#FA8D89" if "/deepspeed/" in f"/{file}" else "#C0C0C0"


def _label(key: str) -> str:
    """Return a key with one part of the path on each line. ``:`` ends a line too, ``::`` ends one line."""
    parts = key.replace("::", "/").replace(":", "/").split("/")
    return "\\n".join(label_text(part, _PART) for part in parts)
