"""The usual recorder in Python: the stack of frames at each operator, in a Python dispatch mode."""

import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterator
from itertools import dropwhile, pairwise
from types import FrameType
from typing import Any

from torch.utils._python_dispatch import TorchDispatchMode

from tests.oracle.keys import Keys


def _stack(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _is_plumbing(frame: FrameType) -> bool:
    """Frames of PyTorch around the method of a Python dispatch mode."""
    file = frame.f_code.co_filename
    return file.endswith("torch/_compile.py") or "torch/_dynamo/" in file


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
        for frame in dropwhile(_is_plumbing, _stack(sys._getframe(1))):
            path.append(self._keys.key(frame))
            if frame.f_code is self._root:
                break
        for callee, caller in pairwise(path):
            self.edges_to[func._schema.name].add((caller, callee))
        self.operators[path[0], func._schema.name] += 1
        return func(*args, **(kwargs or {}))

    def edges(self, leave_out: Container[str] = ()) -> set[tuple[str, str]]:
        return set().union(*(edges for name, edges in self.edges_to.items() if name not in leave_out))
