"""``profile`` of a recording: a graph of layers from ``CallGraph(et=True)`` (docs/guides/pipeline-partition.md).

Forwards of modules and operators between them are the layers, tensors that go into one and came out of another are the
edges, and autograd nodes are known by the numbers of the operators that made them.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from fastdispatch import _core
from fastdispatch.pipeline.aten_text import CallText, is_tensor
from fastdispatch.pipeline.graph import Graph
from fastdispatch.pipeline.operand_facts import LISTS, operand_facts
from fastdispatch.pipeline.watched import Makers, Owned, Watched, graph_of
from fastdispatch.read.execution_trace import PROCESS, THREAD, TIMED, texts_of
from fastdispatch.read.trace import load

_FORWARD, _BACKWARD, _MODULE = 0, 1, 100


class _Call(NamedTuple):
    """A call of an operator, or the forward of a module."""

    id: int
    parent: int
    name: str
    schema: str
    scope: int
    number: int
    sequence: int
    thread: int
    forward_thread: int
    ns: int
    inputs: list[Any]
    outputs: list[Any]


@dataclass
class _Model:
    """Facts of a model that the recording stores at its first call."""

    paths: dict[int, str]  # by address of the module
    leaves: dict[int, str]
    parameters: list[tuple[str, Owned]]  # shared ones under each name
    buffers: list[tuple[str, Owned]]

    @classmethod
    def of(cls, note: Mapping[str, Any]) -> _Model:
        paths: dict[int, str] = {}
        for address, path, _ in note["modules"]:
            paths.setdefault(address, path)
        leaves = {address: text for address, _, text in note["modules"] if text}
        owned = [[(name, Owned(at, *facts)) for name, at, *facts in note[kind]] for kind in ("parameters", "buffers")]
        return cls(paths, leaves, *owned)

    def firsts(self) -> dict[Any, str]:
        found: dict[Any, str] = {}
        for name, each in self.parameters:
            found.setdefault(each.key, name)
        return found


def profile_recording(path: str | os.PathLike[str], *, steps: int | None = None, warmup: int = 2) -> Graph:
    """Return the graph of the model in a recording made with ``CallGraph(et=True)``.

    Parameters
    ----------
    path:
        The recording of one process, ``rank00000.fd``.
    steps, warmup:
        Maximum of measured calls of the model with a complete backward (default: all), and the number of skipped calls
        before them; at least one is measured.

    The model is the module that no other calls and that has most operators. Raises :class:`fastdispatch.Error` for a
    recording without such a module, or whose calls of it differ.
    """
    if warmup < 0 or (steps is not None and steps < 1):
        raise _core.Error(f"profile: {steps} steps after {warmup}: at least one step is needed")
    return graph_of_model(path, None, steps, warmup)


def graph_of_model(path: str | os.PathLike[str], address: int | None, steps: int | None, warmup: int) -> Graph:
    """Return the graph of the model with this ``id()``; None: the one with most operators."""
    try:
        return _graph(path, address, steps, warmup)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:  # facts of any form
        raise _core.Error(f"{os.fspath(path)}: damaged facts of the model: {error!r:.80}: record it again") from None


def _graph(path: str | os.PathLike[str], address: int | None, steps: int | None, warmup: int) -> Graph:
    recording = _Recording(layer_calls(path))
    trace = load(path)
    model, roots = recording.model(trace.meta, os.fspath(path), address)
    runs = [_Run(recording, model, root) for root in roots]
    elsewhere = recording.measure(runs) / len(runs)
    whole = [run.made.layers for run in runs if run.has_backward] or [run.made.layers for run in runs]
    if trace.ranks[0]["counters"].get("op_calls_full"):
        whole = _before_it_was_full(whole)
    first = min(warmup, len(whole) - 1)
    return graph_of(whole[first], whole[first:][:steps], {"backward_elsewhere_ms": elsewhere})


def layer_calls(path: str | os.PathLike[str]) -> list[_Call]:
    """Return the calls in a recording of ``CallGraph(et=True)`` without the roots of threads, sorted by id."""
    trace = _core.ExecutionTrace(path, recording=True, layers=True)
    nodes = trace.columns("nodes")
    texts = texts_of(trace, [*nodes["name"], *nodes["schema"]])
    return [
        _Call(
            nodes["id"][at],
            nodes["parent_id"][at],
            texts[nodes["name"][at]],
            texts[nodes["schema"][at]],
            nodes["scope"][at],
            nodes["rf_id"][at],
            nodes["seq"][at],
            nodes["tid"][at],
            nodes["fw_tid"][at],
            nodes["dur_ns"][at] if flags & TIMED else -1,
            *(operand_facts(*(trace.text(nodes[f"{side}_{name}"][at]) for name in LISTS)) for side in ("in", "out")),
        )
        for at, flags in enumerate(nodes["flags"])
        if not flags & (PROCESS | THREAD)
    ]


def _before_it_was_full(whole: list[list[Watched]]) -> list[list[Watched]]:
    """Return the complete calls of the model: those equal to the first, except for the last one, whose backward may be
    cut."""
    count = 1
    while count < len(whole) and len(whole[count]) == len(whole[0]):
        count += 1
    return whole[: max(count - 1, 1)]


class _Recording:
    """All calls and their callers."""

    def __init__(self, calls: list[_Call]) -> None:
        self.by_id = {call.id: call for call in calls}
        self.calls = calls
        self.children: dict[int, list[_Call]] = defaultdict(list)
        for call in calls:
            self.children[call.parent].append(call)

    def below(self, call: _Call) -> Iterator[_Call]:
        todo = [call]
        while todo:
            each = todo.pop()
            yield each
            todo += reversed(self.children[each.id])

    def _is_root(self, call: _Call) -> bool:
        above = self.by_id.get(call.parent)
        while above is not None and above.scope != _MODULE and above.scope != _BACKWARD:
            above = self.by_id.get(above.parent)
        return call.scope == _MODULE and above is None and call.ns >= 0

    def model(self, notes: Mapping[str, Any], where: str, address: int | None) -> tuple[_Model, list[_Call]]:
        """Return the model and its calls."""
        roots: dict[int, list[_Call]] = defaultdict(list)
        for call in self.calls:
            if self._is_root(call) and f"model {call.number}" in notes:
                roots[call.number].append(call)
        if not roots:
            advice = "record training with CallGraph(et=True), calls='frame'"
            raise _core.Error(f"{where}: the recording has no call of a module: {advice}")
        sizes = {number: sum(1 for _ in self.below(calls[0])) for number, calls in roots.items()}
        largest = address if address in roots else max(sizes, key=lambda number: sizes[number])
        return _Model.of(notes[f"model {largest}"]), roots[largest]

    def measure(self, runs: list[_Run]) -> float:
        """Assign autograd nodes to layers, with their times and the tensors of the forward that they read. Return the
        time (ms) of the others."""
        elsewhere = 0.0
        owners = {key: (run, place) for run in runs for key, place in run.numbers.items()}
        givers: dict[int, tuple[_Run, int]] = {}  # by tensor: the producer of a gradient
        for call in self.calls:
            if call.scope != _BACKWARD:
                continue
            above = self.by_id.get(call.parent)
            if above is not None and above.scope == _BACKWARD:
                continue
            owner = owners.get((call.forward_thread, call.sequence))
            if owner is None:  # a gradient that is added up
                owner = next((givers[each["id"]] for each in _tensors(call.inputs) if each["id"] in givers), None)
            if owner is None:
                elsewhere += max(call.ns, 0) / 1e6
                continue
            for each in _tensors(call.outputs):
                givers[each["id"]] = owner
            run, place = owner
            run.has_backward = True
            run.made.layers[place].backward += max(call.ns, 0) / 1e6
            for inner in self.below(call):
                run.add_saved(place, inner)
        for run in runs:
            run.settle()
        return elsewhere


class _Run:
    """One call of the model."""

    def __init__(self, recording: _Recording, model: _Model, root: _Call) -> None:
        self.made = Makers()
        self.numbers: dict[tuple[int, int], int] = {}  # thread and autograd's number -> layer
        self.has_backward = False
        self._recording = recording
        self._model = model
        self._firsts = model.firsts()
        self._parameters = {each.key: each for _, each in model.parameters}
        self._buffers = {each.key: each for _, each in model.buffers}
        self._stored: dict[int, int] = {}  # storages of the forward -> bytes
        self._owned: set[int] = set()  # storages of parameters
        self._kept: dict[int, int] = {}  # storage -> first layer whose backward needs it
        self._made_as: dict[int, tuple[str, list[int]]] = {}  # dtypes and shapes of tensors
        self._arguments = {each["id"] for each in _tensors(root.inputs)}
        self._walk(root)

    def _walk(self, call: _Call) -> None:
        for each in self._recording.children[call.id]:
            if each.ns < 0:
                continue
            if each.scope == _MODULE and each.number in self._model.leaves:
                self._module(each)
            elif each.scope == _FORWARD and each.schema:
                self._function(each)
            elif each.scope != _BACKWARD:
                self._walk(each)
                if each.scope == _FORWARD and each.sequence >= 0 and self.made.layers:  # a custom autograd function
                    self.numbers[each.thread, each.sequence] = len(self.made.layers) - 1

    def _module(self, call: _Call) -> None:
        path = self._model.paths[call.number]
        layer = Watched(self._model.leaves[call.number], [], forward=call.ns / 1e6, module=path)
        by_place, by_name = call.inputs
        for fact in _tensors([by_place, by_name]):
            self._take(layer, fact)
        layer.call = _arguments(by_place, by_name["dict"], self._is_edge)
        for name, each in _within(self._model.parameters, path):
            layer.parameters.append(each)
            first = self._firsts[each.key]
            if first != f"{path}.{name}".lstrip("."):
                layer.tied[name] = first
        layer.buffers += [each for _, each in _within(self._model.buffers, path)]
        self._finish(call, layer, list(_placed(call.outputs[0])) if call.outputs else [])

    def _function(self, call: _Call) -> None:
        given = call.outputs if len(call.outputs) != 1 else call.outputs[0]
        placed = list(_placed(given))
        if not placed:
            return
        named = CallText(call.name, call.schema, call.inputs, self._is_edge, self._is_number)
        layer = Watched(named.name(), [], forward=call.ns / 1e6, call=named.call())
        for fact in _tensors(call.inputs):
            if not self._is_number(fact):
                self._take(layer, fact)
        self._finish(call, layer, placed)

    def _is_edge(self, fact: Mapping[str, Any]) -> bool:
        return fact["at"] not in self._parameters and fact["at"] not in self._buffers

    def _is_number(self, fact: Mapping[str, Any]) -> bool:
        """Return whether a tensor is a number: ``x + 1`` has a tensor for 1. It may have the address of a freed
        tensor."""
        return (
            "value" in fact
            and fact["id"] not in self._arguments
            and self._made_as.get(fact["id"]) != (fact["dtype"], [])
            and self._is_edge(fact)
        )

    def _take(self, layer: Watched, fact: Mapping[str, Any]) -> None:
        if fact["at"] in self._parameters:
            layer.parameters.append(self._parameters[fact["at"]])
        elif fact["at"] in self._buffers:
            layer.buffers.append(self._buffers[fact["at"]])
        else:
            layer.inputs.append(self.made.of(fact["id"], fact["bytes"], fact["dtype"], fact["shape"]))

    def _finish(self, call: _Call, layer: Watched, placed: list[tuple[tuple[Any, ...], dict[str, Any]]]) -> None:
        place = len(self.made.layers)
        self.made.layers.append(layer)
        for each in self._recording.below(call):
            if each.scope == _FORWARD and each.sequence >= 0:
                self.numbers[each.thread, each.sequence] = place
            for fact in _tensors([each.inputs, each.outputs]):
                self._store(fact)
            if each.scope == _FORWARD and each is not call:
                for fact in _tensors(each.outputs):
                    if self._is_edge(fact):
                        self.made.gives_inside(place, fact["id"])
                        self._made_as[fact["id"]] = fact["dtype"], fact["shape"]
        for path, fact in placed:
            self.made.gives(place, fact["id"], path, fact["bytes"], fact["dtype"])
            self._made_as[fact["id"]] = fact["dtype"], fact["shape"]

    def _store(self, fact: Mapping[str, Any]) -> None:
        self._stored[fact["storage"]] = max(fact["extent"], self._stored.get(fact["storage"], 0))
        if fact["at"] in self._parameters:
            self._owned.add(fact["storage"])

    def add_saved(self, index: int, call: _Call) -> None:
        """Note the tensors that a call in the backward of a layer reads."""
        for fact in _tensors(call.inputs):
            storage = fact["storage"]
            if storage in self._stored and storage not in self._owned and "value" not in fact:
                self._kept[storage] = min(index, self._kept.get(storage, index))

    def settle(self) -> None:
        for storage, place in self._kept.items():
            self.made.layers[place].saved += self._stored[storage]


def _tensors(facts: Any) -> Iterator[dict[str, Any]]:
    """Yield all tensors in facts, in order."""
    if isinstance(facts, list):
        for each in facts:
            yield from _tensors(each)
    elif is_tensor(facts):
        yield facts
    elif isinstance(facts, dict):
        yield from _tensors(facts.get("tuple", facts.get("dict", [])))


def _placed(facts: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    """Yield all tensors in a result, each with its path of items."""
    if is_tensor(facts):
        yield path, facts
    elif isinstance(facts, dict) and "dict" in facts:
        for key, each in facts["dict"]:
            yield from _placed(each, (*path, key))
    elif isinstance(facts, (dict, list)):
        for index, each in enumerate(facts if isinstance(facts, list) else facts.get("tuple", [])):
            yield from _placed(each, (*path, index))


def _within(rows: list[tuple[str, Owned]], path: str) -> Iterator[tuple[str, Owned]]:
    """Yield the tensors of a module by their names in it; a shared tensor once."""
    start = f"{path}." if path else ""
    seen = set()
    for name, each in rows:
        if name.startswith(start) and each.key not in seen:
            seen.add(each.key)
            yield name[len(start) :], each


class _NotRecorded(Exception):
    """An argument that is not plain data."""


def _arguments(by_place: list[Any], by_name: list[Any], is_edge: Any) -> str:
    """Return the arguments of a call of a module, in parentheses; empty if they are only tensors, or not plain data."""
    count = 0

    def text(fact: Any) -> str:
        nonlocal count
        if is_tensor(fact):
            if not is_edge(fact):
                raise _NotRecorded
            count += 1
            return f"%{count - 1}"
        if isinstance(fact, list):
            return f"[{', '.join(map(text, fact))}]"
        if isinstance(fact, dict):
            if "tuple" not in fact:
                raise _NotRecorded
            return f"({''.join(f'{text(each)}, ' for each in fact['tuple'])})".replace(", )", ",)")
        return repr(fact)

    try:
        texts = [*map(text, by_place), *(f"{key}={text(value)}" for key, value in by_name)]
    except _NotRecorded:
        return ""
    plain = not by_name and all(map(is_tensor, by_place))
    return "" if plain else f"({', '.join(texts)})"
