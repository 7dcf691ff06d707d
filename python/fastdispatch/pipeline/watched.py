"""Layers observed in some steps, and their graph."""

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from fastdispatch import _core
from fastdispatch.pipeline.graph import Graph, Node


@dataclass(frozen=True)
class Owned:
    """A parameter or buffer of a layer."""

    key: Hashable  #: identity of the tensor
    dtype: str
    bytes: int


@dataclass
class Watched:
    """A layer in one step."""

    name: str
    inputs: list[int]
    forward: float = 0.0  # ms
    backward: float = 0.0
    outputs: list[int] = field(default_factory=list)
    parameters: list[Owned] = field(default_factory=list)
    buffers: list[Owned] = field(default_factory=list)
    saved: int = 0
    dtypes: list[str] = field(default_factory=list)
    module: str = ""
    call: str = ""  # docs/guides/pipeline-convert.md
    shape: list[int] | None = None  # of an input
    tied: dict[str, str] = field(default_factory=dict)


class Makers:
    """Layers in order, and the producer of each value."""

    def __init__(self) -> None:
        self.layers: list[Watched] = []
        self._makers: dict[Hashable, int] = {}
        self._items: dict[Hashable, tuple[int, tuple[Any, ...], int]] = {}  # items of results that have no node yet
        self._taken_out: dict[tuple[int, tuple[Any, ...]], int] = {}

    def of(self, value: Hashable, bytes: int, dtype: str, shape: Iterable[int]) -> int:
        """Return the producer of a value; a new input of the model without one."""
        if value in self._items:
            self._makers[value] = self._take_out(*self._items.pop(value))
        if value not in self._makers:
            count = sum(layer.name.startswith("Input") and not layer.inputs for layer in self.layers)
            found = Watched(f"Input{count}", [], outputs=[bytes], dtypes=[dtype], shape=[*shape])
            self.layers.append(found)
            self._makers[value] = len(self.layers) - 1
        return self._makers[value]

    def gives(self, index: int, value: Hashable, path: tuple[Any, ...], bytes: int, dtype: str) -> None:
        """Set the producer of a value, at this path in its result."""
        layer = self.layers[index]
        layer.outputs.append(bytes)
        layer.dtypes.append(dtype)
        self._makers[value] = index
        self._items.pop(value, None)
        if path:
            self._items[value] = (index, path, bytes)

    def gives_inside(self, index: int, value: Hashable) -> None:
        """Set the producer of a value that may not be in its result."""
        self._makers[value] = index
        self._items.pop(value, None)

    def _take_out(self, index: int, path: tuple[Any, ...], bytes: int) -> int:
        """Return the node of one of several outputs, with one node per item of its path."""
        found = index
        for depth in range(1, len(path) + 1):
            key = (index, path[:depth])
            if key not in self._taken_out:
                sizes = [bytes] if depth == len(path) else []
                self.layers.append(Watched(f"__getitem__({path[depth - 1]!r})", [found], outputs=sizes))
                self._taken_out[key] = len(self.layers) - 1
            found = self._taken_out[key]
        return found


def graph_of(shape: list[Watched], timed: list[list[Watched]], about: Mapping[str, Any] | None = None) -> Graph:
    """Return the graph of the layers ``shape``, with times of each step of ``timed``."""
    for step, layers in enumerate(timed):
        if list(_forms(layers)) != list(_forms(shape)):
            raise _core.Error(
                f"profile: step {step + 1} calls other layers than the previous step: the layers must be equal"
            )
    seen: dict[Hashable, str] = {}
    nodes = []
    for index, layer in enumerate(shape):
        id = f"node{index + 1}"
        unique, known = _facts(layer, id, seen)
        forward = [layers[index].forward for layers in timed]
        backward = [layers[index].backward for layers in timed]
        nodes.append(
            Node(
                id,
                layer.name,
                median(forward),
                median(backward),
                [float(size) for size in layer.outputs],
                float(sum(each.bytes for each in unique)),
                forward_spread_ms=_spread(forward),
                backward_spread_ms=_spread(backward),
                saved_bytes=float(layer.saved),
                about=known,
            )
        )
    edges = [(f"node{first + 1}", f"node{index + 1}") for index, layer in enumerate(shape) for first in layer.inputs]
    return Graph(nodes, edges, {"steps": len(timed), **(about or {})})


def _forms(layers: list[Watched]) -> Iterator[tuple[str, list[int]]]:
    """Return the structure that all steps must have. Numbers, such as a factor of the step, may differ."""
    return ((each.name.split("(")[0], each.inputs) for each in layers)


def _facts(layer: Watched, id: str, seen: dict[Hashable, str]) -> tuple[list[Owned], dict[str, Any]]:
    """Return the parameters that no earlier layer has, and further facts."""
    about: dict[str, Any] = {"module": layer.module} if layer.module else {}
    known: Mapping[str, Any] = {"call": layer.call, "tied": layer.tied, "dtypes": layer.dtypes}
    about |= {key: value for key, value in known.items() if value}
    if layer.shape is not None:
        about["shape"] = layer.shape
    shared = sorted({seen[each.key] for each in layer.parameters if seen.get(each.key, id) != id})
    if shared:
        about["shares_parameters_with"] = shared
    own = {each.key: each for each in layer.parameters if seen.setdefault(each.key, id) == id}
    if own:
        about["parameter_bytes"] = _by_dtype(own.values())
    if layer.buffers:
        about["buffer_bytes"] = sum(each.bytes for each in {each.key: each for each in layer.buffers}.values())
    return [*own.values()], about


def _by_dtype(tensors: Iterable[Owned]) -> dict[str, int]:
    found: Counter[str] = Counter()
    for tensor in tensors:
        found[tensor.dtype] += tensor.bytes
    return dict(found)


def _spread(times: list[float]) -> float:
    """Return the median distance from the median."""
    middle = median(times)
    return median(abs(each - middle) for each in times)
