"""Initial layout of packages in the graph, by Graphviz. Without it the page computes a layout itself."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass, field
from typing import Any

from fastdispatch.read.trace import Columns

_WIDTH, _HEIGHT = 224, 60  # size of a box, pixels (page/assets/graph.js)
_DOT_PER_INCH = 72
_MOST = 200  # packages; with more, the page shows the heaviest and computes their layout


@dataclass
class _Graph:
    """Packages, those that threads call first, then the heaviest, and their calls: Graphviz puts the first ones to the
    left."""

    names: list[str] = field(default_factory=list)
    calls: list[tuple[int, int]] = field(default_factory=list)


def packages(nodes: Columns, contexts: Columns) -> dict[str, Any]:
    """Return ``boxes``, the upper left corner of each package by name, and ``edges``: caller, callee and points of a
    curve (as in Graphviz: one point, then three per piece). Empty if ``dot`` is not installed or fails."""
    graph = _graph(nodes, contexts)
    if not 0 < len(graph.names) <= _MOST:
        return {}
    lines = [f"node [shape=box fixedsize=true width={_WIDTH / _DOT_PER_INCH} height={_HEIGHT / _DOT_PER_INCH}]"]
    lines += [f"n{at}" for at in range(len(graph.names))]
    lines += [f"n{caller} -> n{callee}" for caller, callee in graph.calls]
    rows = _placed("digraph { rankdir=LR ranksep=0.6 nodesep=0.25\n" + "\n".join(lines) + "\n}")
    boxes = [row for row in rows if row[0] == "node"]
    if len(boxes) != len(graph.names):
        return {}
    left = min(float(row[2]) for row in boxes)
    highest = max(float(row[3]) for row in boxes)

    def point(x: str, y: str, box: bool) -> list[int]:
        right = (float(x) - left) * _DOT_PER_INCH + (0 if box else _WIDTH / 2)
        return [round(right), round((highest - float(y)) * _DOT_PER_INCH + (0 if box else _HEIGHT / 2))]

    return {
        "boxes": {graph.names[int(row[1][1:])]: point(row[2], row[3], True) for row in boxes},
        "edges": [
            [
                *(graph.names[int(end[1:])] for end in row[1:3]),
                [point(row[at], row[at + 1], False) for at in range(4, 4 + 2 * int(row[3]), 2)],
            ]
            for row in rows
            if row[0] == "edge"
        ],
    }


def _graph(nodes: Columns, contexts: Columns) -> _Graph:
    drawn = [None if kind == "thread" else name for name, kind in zip(nodes["package"], nodes["kind"], strict=True)]
    of = [drawn[node] for node in contexts["node"]]
    totals = list(contexts["time"])
    for context in range(len(totals) - 1, -1, -1):  # parents come before their children
        if contexts["parent"][context] >= 0:
            totals[contexts["parent"][context]] += totals[context]
    weight: dict[str, int] = {name: 0 for name in sorted({name for name in drawn if name is not None})}
    roots = dict(weight)
    calls: dict[tuple[str, str], int] = {}
    for context, parent in enumerate(contexts["parent"]):
        callee = of[context]
        caller = of[parent] if parent >= 0 else None
        if callee is None or caller == callee:
            continue
        weight[callee] += totals[context]
        if caller is None:
            roots[callee] += totals[context]
        else:
            calls[caller, callee] = calls.get((caller, callee), 0) + totals[context]
    names = sorted(weight, key=lambda name: (-roots[name], -weight[name], name))
    number = {name: at for at, name in enumerate(names)}
    heaviest = sorted(calls, key=lambda ends: (-calls[ends], ends))
    return _Graph(names, [(number[caller], number[callee]) for caller, callee in heaviest])


def _placed(dot: str) -> list[list[str]]:
    """Return the rows of Graphviz's plain format."""
    try:
        done = subprocess.run(["dot", "-Tplain"], input=dot.encode(), capture_output=True, check=False, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return []
    return [line.split() for line in done.stdout.decode(errors="replace").splitlines()] if not done.returncode else []
