"""Folded stacks for flame graphs: "main;step;forward 123", one line per stack (github.com/brendangregg/FlameGraph)."""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Literal

from fastdispatch import _core
from fastdispatch.read.columns import rows
from fastdispatch.read.rank_dicts import rank_dicts

_FIGURES = {"time": "self", "calls": "calls", "gpu": "gpu_self"}
#: Separators of frames and lines, and control characters of terminals, in names.
_REPLACED = {**dict.fromkeys(chain(range(32), (127,)), " "), ord(";"): ":"}


def default_weight(core: _core.Trace, rank: int) -> Literal["time", "gpu"]:
    """Return the weight of call paths: ``gpu`` if kernels of the rank with this index were recorded, else ``time``."""
    contexts, kinds = core.contexts(rank), core.columns("nodes")["kind"]
    launched = rows(contexts, "gpu_self node")
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


#: Figures of a call path, and their types and units.
_VALUES = (
    ("calls", "calls", "count"),
    ("self", "cpu", "nanoseconds"),
    ("gpu_self", "gpu", "nanoseconds"),
    ("resumes", "resumes", "count"),
    ("communicated", "communicated", "bytes"),
    ("allocated", "allocated", "bytes"),
)


def pprof(core: _core.Trace, rank: int) -> bytes:
    """Return a sample per call path with figures; a location and a function, with the same number, per node."""
    texts = {"": 0}

    def text(field: int, value: str) -> bytes:
        return number(field, texts.setdefault(value, len(texts)))

    parts = [message(1, text(1, name), text(2, unit)) for _, name, unit in _VALUES]
    parts += [text(14, "cpu"), *times(core, rank), *samples(core, rank)]
    for node, (key, qualified, file, line) in enumerate(rows(core.columns("nodes"), "key qualified file line"), 1):
        parts.append(message(4, number(1, node), message(4, number(1, node), number(2, line))))
        names = text(2, key), text(3, qualified), text(4, file)
        parts.append(message(5, number(1, node), *names, number(5, line)))
    return b"".join([*parts, *(message(6, value.encode()) for value in texts)])


def times(core: _core.Trace, rank: int) -> Iterator[bytes]:
    """Yield the start of the first rank, or of its selected steps, and the longest recorded duration."""
    starts: list[int] = []
    recorded = [0]
    for index, each in enumerate(rank_dicts(core)):
        if rank in (-1, index):
            before = each["window"]["from"] if each["window"] else 0
            starts.append(each["start_realtime"] + (core.columns("marks", index)["end"][before - 1] if before else 0))
            recorded.append(each["recorded"])
    yield number(9, min(starts, default=0))
    yield number(10, max(recorded))


def samples(core: _core.Trace, rank: int) -> Iterator[bytes]:
    contexts, totals = core.contexts(rank), core.totals(rank)
    parents, frames = contexts["parent"], [varint(node + 1) for node in contexts["node"]]
    for at, figures in enumerate(zip(*(totals[name] for name, _, _ in _VALUES), strict=True)):
        if any(figures):
            stack = []
            while at >= 0:
                stack.append(frames[at])
                at = parents[at]
            yield message(2, message(1, *stack), message(2, *map(varint, figures)))


def varint(value: int) -> bytes:
    """Encode 64 bits, seven per byte."""
    value &= (1 << 64) - 1
    made = bytearray()
    while value > 127:
        made.append(value & 127 | 128)
        value >>= 7
    made.append(value)
    return bytes(made)


def number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value)


def message(field: int, *parts: bytes) -> bytes:
    content = b"".join(parts)
    return varint(field << 3 | 2) + varint(len(content)) + content
