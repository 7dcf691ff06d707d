"""The call paths of both sides of a comparison as one tree, for the page of changes.

    before ─┐  paths of calls by the keys of their functions, no line, and by   ┌─ figures before
            ├─ the names of their modules ──────────────────────────────────────┤
    after  ─┘                                                                   └─ figures after

The slowest step of each path is replaced by the mean of its other steps, as in diff_rows.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from fastdispatch.compare.diff_rows import SideSums
from fastdispatch.read.plumbing import FUNCTIONS
from fastdispatch.read.trace import Columns, Trace

_IDENTITY = ("kind", "file", "class", "name")
_SOURCES = ("project", "site", "stdlib", "generated")


class JoinedPaths:
    """``nodes``, ``modules`` and ``contexts`` (parent, node, module, flags) of two traces, as those of a trace."""

    def __init__(self, before: Trace, after: Trace) -> None:
        self.traces = (before, after)
        self.nodes: Columns = {name: [] for name in before.nodes}
        self.modules: Columns = {name: [] for name in before.modules}
        self.contexts: Columns = {name: [] for name in ("parent", "node", "module", "flags")}
        self._node_of = list(_join_nodes(self.nodes, self.traces))
        self._module_of = list(_join_modules(self.modules, self.traces))
        self._places: dict[tuple[int, ...], int] = {}
        self._path_of = [self._join_contexts(side) for side in range(len(self.traces))]

    def _join_contexts(self, side: int) -> list[int]:
        """Add the paths of a side, and return the row of each. The path of an origin is part of the identity."""
        found = self.traces[side].contexts
        parents, origins = found["parent"], found["origin"]
        rows = [-1] * (len(parents) + 1)  # the last one is that of no path
        begun: set[int] = set()
        for path in range(len(parents)):
            todo = [path]
            while todo:
                at = todo[-1]
                first = [one for one in (parents[at], origins[at]) if rows[one] < 0 <= one and one not in begun]
                begun.add(at)
                if first:
                    todo.append(first[0])
                    continue
                todo.pop()
                if rows[at] < 0:
                    node, module = self._node_of[side][found["node"][at]], self._module_of[side][found["module"][at]]
                    rows[at] = self._place((rows[parents[at]], node, module, rows[origins[at]]), found["flags"][at])
        return rows[:-1]

    def _place(self, identity: tuple[int, ...], flags: int) -> int:
        row = self._places.setdefault(identity, len(self._places))
        if row == len(self.contexts["flags"]):
            for name, value in zip(self.contexts, (*identity[:-1], 0), strict=True):
                self.contexts[name].append(value)
        self.contexts["flags"][row] |= flags
        return row

    def figures(self, side: int, rank: int) -> Columns:
        """Return the figures of a side per path, of the rank with this index; -1: of all."""
        totals = self.traces[side].core.totals(rank, True)
        return {name: self._sums(side, np.asarray(view)).tolist() for name, view in totals.items()} | self.contexts

    def _sums(self, side: int, values: NDArray[np.generic]) -> NDArray[np.generic]:
        sums = np.zeros(len(self.contexts["parent"]), values.dtype)
        np.add.at(sums, self._path_of[side], values)
        return sums

    def module_table(self, ranks: Sequence[int], ends: Sequence[str]) -> Columns:
        """Return sums by pattern of modules: where, instances, and figures of both sides, ``calls.before``."""
        sides = [SideSums(trace, rank, "module") for trace, rank in zip(self.traces, ranks, strict=True)]
        where: dict[str, set[int]] = {}
        for side, rows in zip(sides, self._path_of, strict=True):
            for row, group in zip(rows, side.groups.tolist(), strict=True):
                if group >= 0:
                    where.setdefault(side.identities[group][0], set()).add(self.contexts["module"][row])
        table: Columns = {"where": list(where), "instances": list(map(len, where.values()))}
        for side, end in zip(sides, ends, strict=True):
            sums = {name: side.own(side.totals[name]) for name in ("calls", "self")}
            sums |= {name: side.whole(side.totals[name]) for name in ("ops", "total", "backward")}
            for name in ("calls", "ops", "self", "total", "backward"):
                of = dict(zip((label for label, _ in side.identities), sums[name].tolist(), strict=True))
                table[f"{name}.{end}"] = [of.get(label, 0) for label in where]
        return table


def _join_nodes(joined: Columns, traces: Sequence[Trace]) -> Iterator[list[int]]:
    """Add the nodes, and yield the row of each node of each trace. Lines are those of the later recording; removed
    functions keep theirs."""
    places: dict[tuple[str, ...], int] = {}
    for trace in traces:
        rows = []
        for identity, *values in zip(
            zip(*(trace.nodes[name] for name in _IDENTITY), strict=True), *trace.nodes.values(), strict=True
        ):
            row = places.setdefault(identity, len(places))
            found = dict(zip(trace.nodes, values, strict=True))
            if row == len(joined["key"]):
                kind, file, owner, name = identity
                found["key"] = f"{file}:[{owner}]:{name}" if kind in FUNCTIONS else name
                for column, value in found.items():
                    joined[column].append(value)
            joined["line"][row] = found["line"] or joined["line"][row]
            joined["from"][row] = min(joined["from"][row], found["from"], key=_SOURCES.index)
            for column in ("qualified", "package"):
                joined[column][row] = min(joined[column][row] or found[column], found[column] or joined[column][row])
            rows.append(row)
        yield rows


def _join_modules(joined: Columns, traces: Sequence[Trace]) -> Iterator[list[int]]:
    """Add the modules, and yield the row of each module of each trace, and -1 as the last one."""
    places: dict[tuple[int, str, str], int] = {}
    for trace in traces:
        found = trace.modules
        rows = [-1] * (len(found["path"]) + 1)
        for module, (parent, *names) in enumerate(zip(found["parent"], found["name"], found["class"], strict=True)):
            row = rows[module] = places.setdefault((rows[parent], *names), len(places))
            if row == len(joined["path"]):
                for column, values in found.items():
                    joined[column].append(values[module])
                joined["parent"][row] = rows[parent]
            for column in ("parameters", "parameter_bytes"):
                joined[column][row] = max(joined[column][row], found[column][module])
        yield rows
