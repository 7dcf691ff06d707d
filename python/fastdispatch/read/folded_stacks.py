"""Folded stacks for flame graphs: "main;step;forward 123", one line per stack (github.com/brendangregg/FlameGraph)."""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Literal

from fastdispatch import _core

_FIGURES = {"time": "self", "calls": "calls", "gpu": "gpu_self"}
#: Separators of frames and lines, and control characters of terminals, in names.
_REPLACED = {**dict.fromkeys(chain(range(32), (127,)), " "), ord(";"): ":"}


def default_weight(core: _core.Trace, rank: int) -> Literal["time", "gpu"]:
    """Return the weight of call paths: ``gpu`` if kernels of the rank with this index were recorded, else ``time``."""
    contexts, kinds = core.contexts(rank), core.columns("nodes")["kind"]
    launched = zip(contexts["gpu_self"], contexts["node"], strict=True)
    return "gpu" if any(time and kinds[node] == "kernel" for time, node in launched) else "time"


def folded_stacks(core: _core.Trace, rank: int, weight: str | None) -> str:
    """Return a line per call path that has a weight: self time, or calls if the figure was not recorded."""
    contexts = core.contexts(rank)
    weight = weight or default_weight(core, rank)
    if weight not in _FIGURES:
        raise _core.ArgumentError(f"weight={weight} is unknown")
    own = contexts[_FIGURES[weight]]
    if not any(own):
        own = contexts["calls"]
    keys = [key.translate(_REPLACED) for key in core.columns("nodes")["key"]]
    return "".join(_lines(contexts["parent"], [keys[node] for node in contexts["node"]], own))


def _lines(parents: Sequence[int], frames: Sequence[str], own: Sequence[int]) -> Iterator[str]:
    """Yield lines depth-first, callees in the order of the trace. Paths whose sum with all below is 0 are skipped."""
    whole = [*own]
    callees: dict[int, list[int]] = {}
    for at in range(len(parents) - 1, -1, -1):
        if whole[at]:
            callees.setdefault(parents[at], []).append(at)
            if parents[at] >= 0:
                whole[parents[at]] += whole[at]
    left = [(at, frames[at]) for at in callees.get(-1, ())]
    while left:
        at, path = left.pop()
        if own[at]:
            yield f"{path} {own[at]}\n"
        left += [(callee, f"{path};{frames[callee]}") for callee in callees.get(at, ())]
