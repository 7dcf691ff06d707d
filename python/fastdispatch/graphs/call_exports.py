"""Exports of a call graph: docs/formats/exports.md."""

import json
from collections.abc import Callable, Iterable
from dataclasses import replace

from fastdispatch.graphs.box_graph import BoxGraph
from fastdispatch.graphs.dot_classic import classic_lines
from fastdispatch.graphs.dot_default import default_lines
from fastdispatch.graphs.picture_options import PictureOptions as PictureOptions
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
