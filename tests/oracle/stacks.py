"""The usual recorder in Python: ``inspect.stack()`` at each operator, in a Python dispatch mode."""

from __future__ import annotations

import inspect
from collections import Counter, defaultdict
from collections.abc import Callable, Container
from itertools import dropwhile, pairwise
from typing import Any

from torch.utils._python_dispatch import TorchDispatchMode

from tests.oracle.keys import Keys


def _is_plumbing(info: inspect.FrameInfo) -> bool:
    """Frames of PyTorch around the method of a Python dispatch mode."""
    return info.filename.endswith("torch/_compile.py") or "torch/_dynamo/" in info.filename


class StackRecorder(TorchDispatchMode):
    """Edges between Python functions on paths to an operator, by operator; and calls by (caller, operator)."""

    def __init__(self, root: Callable[..., Any]) -> None:
        super().__init__()
        self.edges_to: defaultdict[str, set[tuple[str, str]]] = defaultdict(set)
        self.operators: Counter[tuple[str, str]] = Counter()
        self._keys = Keys()
        self._root = root.__code__

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        path = []
        for info in dropwhile(_is_plumbing, inspect.stack(context=0)[1:]):
            path.append(self._keys.key(info.frame))
            if info.frame.f_code is self._root:
                break
        for callee, caller in pairwise(path):
            self.edges_to[func._schema.name].add((caller, callee))
        self.operators[path[0], func._schema.name] += 1
        return func(*args, **(kwargs or {}))

    def edges(self, leave_out: Container[str] = ()) -> set[tuple[str, str]]:
        return set().union(*(edges for name, edges in self.edges_to.items() if name not in leave_out))
