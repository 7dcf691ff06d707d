"""Facts of a recording of fastdispatch, for comparison with the slow recorders."""

import itertools
from collections import Counter
from collections.abc import Callable, Iterator

from fastdispatch import Trace


class Recorded:
    """A trace in the form of the oracles: only Python functions and operators below the function ``root``."""

    def __init__(self, trace: Trace, root: str) -> None:
        self._nodes = trace.nodes
        self._contexts = trace.contexts
        self._names = [_plain(key) for key in trace.nodes["key"]]
        self._root = root

    def _kind(self, context: int) -> str:
        return self._nodes["kind"][self._contexts["node"][context]]

    def _name(self, context: int) -> str:
        return self._names[self._contexts["node"][context]]

    def _python_path(self, context: int) -> list[str]:
        """Keys of the Python functions from ``context`` to the root; empty if the root is not on the path."""
        path = []
        while context >= 0:
            if self._kind(context) == "python":
                path.append(self._name(context))
                if path[-1].endswith(f"]:{self._root}"):
                    return path
            context = self._contexts["parent"][context]
        return []

    def _below_root(self, kind: str) -> list[tuple[int, list[str]]]:
        found = ((i, self._python_path(i)) for i in range(len(self._contexts["node"])) if self._kind(i) == kind)
        return [(i, path) for i, path in found if path]

    def edges_to_operators(self, wanted: Callable[[str], bool] = lambda name: True) -> set[tuple[str, str]]:
        """Edges between Python functions on paths to a selected operator."""
        return {
            (caller, callee)
            for i, path in self._below_root("op")
            if wanted(self._name(i))
            for callee, caller in itertools.pairwise(path)
        }

    def operators(self) -> Counter[tuple[str, str]]:
        """Calls by (calling function, operator)."""
        counts: Counter[tuple[str, str]] = Counter()
        for i, path in self._below_root("op"):
            counts[path[0], self._name(i)] += self._contexts["calls"][i]
        return counts

    def c_calls(self) -> Counter[tuple[str, str]]:
        """Calls by (calling function, C function)."""
        counts: Counter[tuple[str, str]] = Counter()
        for i, path in self._below_root("c"):
            counts[path[0], self._name(i)] += self._contexts["calls"][i]
        return counts

    def dispatched(self, is_composite: Callable[[str], bool]) -> Counter[tuple[str, str]]:
        """The same for operators that a dispatch mode receives: the outermost ones that are not composite."""
        counts: Counter[tuple[str, str]] = Counter()
        for i, path in self._below_root("op"):
            if not is_composite(self._name(i)) and all(is_composite(name) for name in self._operators_above(i)):
                counts[path[0], self._name(i)] += self._contexts["calls"][i]
        return counts

    def _operators_above(self, context: int) -> Iterator[str]:
        """Operators between ``context`` and its calling Python function."""
        context = self._contexts["parent"][context]
        while self._kind(context) != "python":
            if self._kind(context) == "op":
                yield self._name(context)
            context = self._contexts["parent"][context]

    def calls(self, column: str = "calls") -> Counter[str]:
        counts: Counter[str] = Counter()
        for i, _ in self._below_root("python"):
            if self._contexts[column][i]:
                counts[self._name(i)] += self._contexts[column][i]
        return counts


def _plain(key: str) -> str:
    """The key without the line number that distinguishes equal keys."""
    head, at, line = key.rpartition("@")
    return head if at and line.isdigit() else key
