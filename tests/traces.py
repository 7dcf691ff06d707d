"""Figures of a trace by the names of its functions and operators."""

import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

import fastdispatch

#: Sources of calls in this version of Python.
SOURCES = ("frame", "monitor") if sys.version_info >= (3, 12) else ("frame",)


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


def edges(trace: fastdispatch.Trace) -> Counter[tuple[str, str]]:
    """The calls by the names of caller and callee."""
    names, found = trace.nodes["name"], Counter[tuple[str, str]]()
    for caller, callee, count in zip(*(trace.edges[name] for name in ("caller", "callee", "calls")), strict=True):
        if caller >= 0:
            found[names[caller], names[callee]] += count
    return found


def paths(trace: fastdispatch.Trace, column: str = "calls", kind: str = "") -> Counter[tuple[str, ...]]:
    """A figure of all contexts, or of those of one kind, by the keys from the root down, all threads together."""
    contexts, found = trace.contexts, Counter[tuple[str, ...]]()
    keys: list[tuple[str, ...]] = []
    for parent, node, value in zip(contexts["parent"], contexts["node"], contexts[column], strict=True):
        keys.append((*(keys[parent] if parent >= 0 else ()), trace.nodes["key"][node]))
        if kind in ("", trace.nodes["kind"][node]):
            found[keys[-1]] += value
    return found


def column(trace: fastdispatch.Trace, group: str = "function", name: str = "calls") -> dict[str, int]:
    """A column of a table by the places of its rows."""
    table = trace.table(group)
    return dict(zip(table["where"], table[name], strict=True))
