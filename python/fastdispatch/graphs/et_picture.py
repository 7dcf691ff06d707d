"""The picture of an execution trace in Graphviz's language."""

from collections.abc import Iterator
from math import log10
from typing import Any

from fastdispatch.graphs.dot_parts import count_text, label_text, time_text
from fastdispatch.graphs.et_boxes import collapsed

#: Dependency lines if each box is one node, and if boxes have several nodes (such boxes depend on each other in all
#: directions, and lines hide the calls); characters of a name.
_LINES, _COLLAPSED_LINES, _TITLE = 400, 40, 44

#: Kinds of dependencies by their columns, with the colours of their lines.
_COLOURS = {
    "order": "#B4BCC6",
    "launch": "#2E7D32",
    "stream": "#00838F",
    "event": "#6A1B9A",
    "sync": "#C62828",
    "group": "#EF6C00",
    "data": "#1565C0",
    "given": "#5D4037",
}

_MODES = {
    "each": "each node",
    "parent": "calls of one name below one call are one box",
    "name": "calls of one name are one box",
    "size": "calls of one name are one box, small ones together",
}

_HEAD = """\
digraph trace {
graph [fontname="Helvetica,Arial,sans-serif", fontsize=12, labelloc=b, labeljust=l, ranksep=0.4, nodesep=0.2, \
rankdir=LR]
node [shape=box, style="rounded,filled", color="#8893A0", fontname="Helvetica,Arial,sans-serif", fontsize=12, \
margin="0.1,0.05"]
edge [arrowsize=0.6, fontsize=9, fontname="Helvetica,Arial,sans-serif"]
"""


def et_picture(tables: dict[str, Any]) -> bytes:
    """Return the picture of the tables of ``et_tables()``."""
    return "".join(_parts(collapsed(tables), len(tables["nodes"]["id"]))).encode()


def _parts(graph: dict[str, Any], nodes: int) -> Iterator[str]:
    boxes, lines, each = graph["boxes"], graph["lines"], graph["mode"] == "each"
    yield _HEAD
    for at, row in enumerate(zip(*boxes.values(), strict=True)):
        box = dict(zip(boxes, row, strict=True))
        name = f"{count_text(graph['names'])} other names" if box["others"] else label_text(box["name"], _TITLE)
        yield f'n{at} [fillcolor="{_fill(box)}", label="{name}{_figures(box["count"], box["time"])}"]\n'
    ends = [f"n{start} -> n{end}" for start, end in zip(lines["from"], lines["to"], strict=True)]
    for end, calls in zip(ends, lines["calls"], strict=True):
        if calls:
            yield f'{end} [style=dotted, color="#5F6B7A", arrowhead=none, weight=10]\n'
    # Program order is meaningless between collapsed calls: a precedes b and b precedes a.
    kinds = [kind for kind in _COLOURS if (each or kind != "order") and any(lines[kind])]
    found = [(kind == "data", -count, at, kind) for kind in kinds for at, count in enumerate(lines[kind]) if count]
    found.sort(key=lambda row: row[:3])  # the most frequent lines, data dependencies last; equal ones by kind
    most = _LINES if each else _COLLAPSED_LINES
    for _, count, at, kind in found[:most]:
        yield f"{ends[at]} [{_attributes(kind, -count)}]\n"
    yield f"label=<{_legend(nodes, graph['mode'], kinds, len(found) - most)}>\n}}\n"


def _fill(box: dict[str, Any]) -> str:
    if box["others"]:
        return "#F1F3F5"
    if box["type"].startswith("COMM_"):
        return "#FDE3C8"
    return "#DDF1DE" if box["gpu"] else "#F1F3F5" if box["type"] == "METADATA" else "#E6EFFA"


def _figures(count: int, time: int) -> str:
    parts = [f"\N{MULTIPLICATION SIGN} {count_text(count)}"] if count > 1 else []
    parts += [time_text(time)] if time > 0 else []
    return "\\n" + " · ".join(parts) if parts else ""


def _attributes(kind: str, count: int) -> str:
    colour = _COLOURS[kind]
    text = f'color="{colour}", penwidth={0.8 + 0.5 * log10(count):.2f}'
    if kind != "launch":
        text += ", constraint=false"
    # With labels in the layout, Graphviz fails on some graphs.
    return text + f', xlabel="{count}", fontcolor="{colour}"' if count > 1 else text


def _legend(nodes: int, mode: str, kinds: list[str], omitted: int) -> str:
    text = f"{count_text(nodes)} nodes: {_MODES[mode]}. Dotted: calls"
    text += "".join(f' <FONT COLOR="{_COLOURS[kind]}"><B>→ {kind}</B></FONT>' for kind in kinds)
    text += f". {omitted} rare lines are omitted" if omitted > 0 else ""
    return text if mode == "each" else f"{text}. Order is not drawn"
