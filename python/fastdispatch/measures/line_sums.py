"""Executions and time of source lines (``detail="lines"``), summed over call paths."""

from __future__ import annotations

from fastdispatch.read.trace import Trace


def figures_by_node(trace: Trace, rank: int | None = None) -> dict[int, dict[int, list[int]]]:
    """Return executions, time and longest time by node and line."""
    nodes = trace.contexts["node"]
    found: dict[int, dict[int, list[int]]] = {}
    for each in trace.ranks:
        if rank is not None and each["rank"] != rank:
            continue
        of = each.get("measures") or {}
        names = ("context", "kind", "detail", "count", "sum", "max")
        for context, kind, detail, count, total, longest in zip(*(of.get(name, ()) for name in names), strict=True):
            if kind == "lines" and detail.isdigit():
                row = found.setdefault(nodes[context], {}).setdefault(int(detail), [0, 0, 0])
                row[:] = row[0] + count, row[1] + total, max(row[2], longest)
    return found
