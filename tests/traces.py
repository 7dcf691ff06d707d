"""Figures of a trace by the names of its functions and operators."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import fastdispatch


def recorded(work: Callable[[], object], **options: Any) -> fastdispatch.Trace:
    """Record ``work`` in memory, with its timeline if the options ask for one."""
    with fastdispatch.CallGraph(None, **options) as graph:
        work()
    assert graph._session is not None
    return fastdispatch.Trace(graph._session.trace(timeline=True))


def calls(trace: fastdispatch.Trace, column: str = "name", kind: str = "") -> Counter[str]:
    """The calls of all nodes, or of one kind, by their name, key or class."""
    found: Counter[str] = Counter()
    for node, count in zip(trace.contexts["node"], trace.contexts["calls"], strict=True):
        if kind in ("", trace.nodes["kind"][node]):
            found[trace.nodes[column][node]] += count
    return found


def edges(trace: fastdispatch.Trace) -> set[tuple[str, str]]:
    """The names of callers and callees."""
    names = trace.nodes["name"]
    return {(names[a], names[b]) for a, b in zip(trace.edges["caller"], trace.edges["callee"], strict=True)}


def column(trace: fastdispatch.Trace, group: str = "function", name: str = "calls") -> dict[str, int]:
    """A column of a table by the places of its rows."""
    table = trace.table(group)
    return dict(zip(table["where"], table[name], strict=True))
