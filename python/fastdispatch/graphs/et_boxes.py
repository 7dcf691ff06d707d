"""An execution trace collapsed to a graph that is small enough to draw."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from fastdispatch.read.execution_trace import GPU, KINDS, TIMED, TYPES

#: Maximum number of boxes.
MOST = 120

#: A box: its first node, number of nodes, time of nodes with times, whether it is on a GPU.
_Box = list[int]


def collapsed(tables: dict[str, Any], most: int = MOST) -> dict[str, Any]:
    """Return at most ``most`` boxes of the nodes of ``et_tables()``, and the lines between them.

    A box is a node ("each"), the calls of one name below one box ("parent"), all calls of one name ("name"), or the
    names with most time, and one box for the others ("size"): the first of these ``mode`` that has few boxes."""
    order = _walk(tables["nodes"]["parent"])
    for mode in ("each", "parent", "name"):
        boxes, box_of = _boxes(tables, order, mode, most)
        if len(boxes) <= most:
            return _graph(tables, mode, boxes, box_of, 0)
    boxes, box_of = _boxes(tables, order, "name", len(order))
    heavy = sorted(range(len(boxes)), key=lambda at: (-boxes[at][2], -boxes[at][1], at))
    kept = sorted(heavy[: most - 1])
    place = dict(zip(kept, range(most - 1), strict=True))
    box_of = [place.get(box, most - 1) for box in box_of]
    rest = [node for node, box in enumerate(box_of) if box == most - 1]
    last = [rest[0], 0, 0, 0]
    for node in rest:
        _add(last, tables["nodes"], node)
    return _graph(tables, "size", [*(boxes[at] for at in kept), last], box_of, len(boxes) - len(kept))


def _add(box: _Box, nodes: dict[str, Any], node: int) -> None:
    flags = nodes["flags"][node]
    box[1] += 1
    box[2] += nodes["dur_ns"][node] if flags & TIMED else 0
    box[3] |= flags & GPU


def _walk(parents: Sequence[int]) -> list[int]:
    """Return the nodes depth-first: each is followed by those that it encloses, which ascend."""
    children: list[list[int]] = [[] for _ in range(len(parents) + 1)]
    for node in reversed(range(len(parents))):
        children[parents[node]].append(node)
    order, open = list[int](), children[0]
    while open:
        order.append(open.pop())
        open += children[order[-1] + 1]
    return order


def _boxes(tables: dict[str, Any], order: list[int], mode: str, most: int) -> tuple[list[_Box], list[int]]:
    """Return the boxes in the order of calls, and the box of each node. More than ``most``: not all of them."""
    nodes, boxes = tables["nodes"], list[_Box]()
    box_of = [0] * len(order)
    seen: dict[tuple[int, int], int] = {}
    for node in order:  # parents precede children
        parent = nodes["parent"][node] if mode == "parent" else 0
        above = box_of[parent - 1] + 1 if parent else 0
        key = (0, node) if mode == "each" else (above, nodes["name"][node])
        box_of[node] = seen.setdefault(key, len(boxes))
        if box_of[node] == len(boxes):
            boxes.append([node, 0, 0, 0])
            if len(boxes) > most:
                break
        _add(boxes[box_of[node]], nodes, node)
    return boxes, box_of


def _graph(tables: dict[str, Any], mode: str, boxes: list[_Box], box_of: list[int], names: int) -> dict[str, Any]:
    nodes, texts = tables["nodes"], tables["texts"]
    others = len(boxes) - 1 if mode == "size" else -1
    columns = {
        "name": [texts[nodes["name"][box[0]]] for box in boxes],
        "type": [TYPES[nodes["type"][box[0]]] for box in boxes],
        "count": [box[1] for box in boxes],
        "time": [box[2] for box in boxes],
        "others": [at == others for at in range(len(boxes))],
        "gpu": [bool(box[3]) for box in boxes],
    }
    return {"boxes": columns, "lines": _lines(tables, box_of), "mode": mode, "names": names}


def _lines(tables: dict[str, Any], box_of: list[int]) -> dict[str, list[int]]:
    """Return the lines between boxes: how many nodes of the second are called in the first, and dependencies."""
    lines: dict[tuple[int, int], list[int]] = defaultdict(lambda: [0] * (1 + len(KINDS)))
    for node, parent in enumerate(tables["nodes"]["parent"]):
        if parent and box_of[parent - 1] != box_of[node]:
            lines[box_of[parent - 1], box_of[node]][0] += 1
    edges = tables["edges"]
    for start, end, kinds in zip(edges["from"], edges["to"], edges["kinds"], strict=True):
        if box_of[start] != box_of[end]:
            line = lines[box_of[start], box_of[end]]
            line[1:] = [count + (kinds >> at & 1) for at, count in enumerate(line[1:])]
    ends = {"from": [start for start, _ in lines], "to": [end for _, end in lines]}
    return ends | {kind: [line[at] for line in lines.values()] for at, kind in enumerate(("calls", *KINDS))}
