"""Finding the one function that a person names, and who calls it and whom it calls."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase

from fastdispatch._core import Error
from fastdispatch.trace import Columns, Trace
from fastdispatch.views.report_rows import Row, row

_LISTED = 8


@dataclass
class Neighbour:
    """A caller or callee of a function: the calls between the two and the time of those calls, in nanoseconds."""

    where: str
    kind: str
    calls: int
    total: int


@dataclass
class Neighbours:
    """Callers or callees (``side``) of ``of``, the most expensive first."""

    side: str
    of: Row
    rows: list[Neighbour]
    more: int


def neighbours(trace: Trace, by: str, rank: int | None, name: str, side: str, top: int | None) -> Neighbours:
    """``side`` is ``callers`` or ``callees``. Raises Error where ``name`` is no row's or several rows'."""
    table = trace.table(by, rank)
    index = find(trace, table, name)
    graph = trace.graph(by, rank)
    here, there = ("callee", "caller") if side == "callers" else ("caller", "callee")
    edges = [
        (-total, -calls, other)
        for this, other, calls, total in zip(*(graph[c] for c in (here, there, "calls", "total")), strict=True)
        if this == index
    ]
    edges.sort()
    shown = edges if top is None else edges[:top]
    rows = [_neighbour(trace, table, other, -calls, -total) for total, calls, other in shown]
    return Neighbours(side, row(trace, table, index), rows, len(edges) - len(shown))


def _neighbour(trace: Trace, table: Columns, index: int, calls: int, total: int) -> Neighbour:
    if index < 0:
        return Neighbour("<outside>", "none", calls, total)
    return Neighbour(table["where"][index], trace.nodes["kind"][table["node"][index]], calls, total)


def find(trace: Trace, table: Columns, name: str) -> int:
    """The row that ``name`` means: a whole key, else the one key it is a part of or matches as a glob, else the one
    among those whose last part it is. Raises Error for none and for several."""
    where, kinds = table["where"], trace.nodes["kind"]
    rows = [i for i, node in enumerate(table["node"]) if kinds[node] != "thread"]
    found = [i for i in rows if where[i] == name] or [i for i in rows if name in where[i]]
    if not found and any(sign in name for sign in "*?["):
        found = [i for i in rows if fnmatchcase(where[i], name) or fnmatchcase(where[i], f"*{name}*")]
    if len(found) > 1:
        ends = [i for i in found if where[i].endswith((":" + name, "." + name))]
        found = ends if len(ends) == 1 else found
    if not found:
        raise Error(f"no function or operator here is called {name!r}: a part of a key or a glob, like '*:forward'")
    if len(found) > 1:
        found.sort(key=lambda i: (-table["total"][i], where[i]))
        more = f" and {len(found) - _LISTED} more" if len(found) > _LISTED else ""
        names = ", ".join(where[i] for i in found[:_LISTED])
        raise Error(f"{name!r} is in {len(found)} keys, give more of one: {names}{more}")
    return found[0]
