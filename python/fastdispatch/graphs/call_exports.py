"""Exports of a call graph: docs/formats/exports.md."""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from fastdispatch.graphs.box_graph import BoxGraph, stacked
from fastdispatch.graphs.call_tree import PictureOptions
from fastdispatch.graphs.dot_default import default_lines
from fastdispatch.graphs.dot_parts import box_tooltip, edge_tooltip, ends, label_text, layout_limits, placed
from fastdispatch.read.trace import Trace


def call_picture(trace: Trace, options: PictureOptions) -> Callable[[int], bytes]:
    """Return the function that returns the picture in Graphviz's language. Its argument is the maximum number of boxes
    without callees on a line; 0: the default of the style."""
    graph = BoxGraph(trace, options)
    lines = classic_lines if options.style == "classic" else default_lines
    return lambda leaves: "".join(lines(graph, leaves)).encode()


def call_lists(trace: Trace, options: PictureOptions) -> bytes:
    """Return ``call_graph_<rank>.json``: two sorted lists of strings, functions and "caller->callee". Nothing is
    folded, and ranges are omitted, as in the classic style."""
    graph = BoxGraph(trace, replace(options, style="classic"))
    keys = {box.number: trace.nodes["key"][box.node] for box in graph.boxes.values()}
    edges = (f"{keys[edge.caller.number]}->{keys[edge.callee.number]}" for edge in graph.edges)
    return f'{{"nodes":{_listed(keys.values())},\n"edges":{_listed(edges)}}}\n'.encode()


def _listed(texts: Iterable[str]) -> str:
    return "[" + ",".join("\n" + json.dumps(text, ensure_ascii=False) for text in sorted(texts)) + "]"


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
