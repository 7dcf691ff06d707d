"""Measured time of each layer, from a recording in which the layers are modules."""

import functools
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from types import CodeType
from typing import Any

from fastdispatch._core import Error
from fastdispatch.pipeline.layers import Layers, is_module, is_spec
from fastdispatch.read.summary import mapping
from fastdispatch.read.trace import Trace

#: The number of a layer; longer numbers are other names, or damage.
_NUMBER = re.compile(r"\d{1,6}", re.ASCII)


@dataclass
class ModuleTime:
    """Time of a module or function, summed over ranks, in nanoseconds."""

    calls: int = 0
    forward: int = 0
    backward: int = 0

    @property
    def mean(self) -> int:
        """Forward and backward of one call: ranks may have recorded different numbers of steps."""
        return max(0, round((self.forward + self.backward) / self.calls)) if self.calls else 0


@dataclass(frozen=True)
class NumberedModules:
    """Modules with numbers as names in one module: a pipeline, ``nn.Sequential`` or ``ModuleList``."""

    parent: int  # row of Trace.modules
    prefix: str  # between the parent and the number: "blocks" of a ModuleList, which is never called
    path: str
    modules: dict[int, int]  # number -> row of Trace.modules


class ModuleTimes:
    """Times of modules and functions in a recording. The slowest step of each path is replaced by the mean of the
    others: it is mostly the first one, which loads libraries and allocates."""

    def __init__(self, trace: Trace, rank: int = -1) -> None:
        """``rank``: the index of a rank, -1 for all."""
        self.trace = trace
        self.contexts = trace.core.contexts(rank, True)

    @cached_property
    def inside_autograd(self) -> list[bool]:
        """By context: whether it is inside of autograd. A forward there is a recomputation by checkpointing: part of
        the backward."""
        autograd = [kind == "autograd" for kind in self.trace.nodes["kind"]]
        inside: list[bool] = []
        for parent in self.contexts["parent"]:
            inside.append(parent >= 0 and (inside[parent] or autograd[self.contexts["node"][parent]]))
        return inside

    @cached_property
    def nearest(self) -> list[int]:
        """By context: the enclosing module (row), excluding itself; -1: none."""
        found: list[int] = []
        modules = self.contexts["module"]
        for parent in self.contexts["parent"]:
            found.append(-1 if parent < 0 else modules[parent] if modules[parent] >= 0 else found[parent])
        return found

    @cached_property
    def modules(self) -> dict[int, ModuleTime]:
        """By row of ``Trace.modules``. Recursive calls of a module are part of the outermost."""
        times: dict[int, ModuleTime] = defaultdict(ModuleTime)
        for context, module in enumerate(self.contexts["module"]):
            if module >= 0 and not self._is_inside(context, module):
                self._add(times[module], context)
        return times

    def function(self, code: CodeType, caller: int) -> ModuleTime:
        """Return the time of the function with this code in calls by the forward of module ``caller``."""
        nodes = self.trace.nodes
        selected = {
            node
            for node, (name, line, file) in enumerate(zip(nodes["name"], nodes["line"], nodes["file"], strict=True))
            if name == code.co_name and line == code.co_firstlineno and file and code.co_filename.endswith(file)
        }
        time = ModuleTime()
        for context, node in enumerate(self.contexts["node"]):
            if node in selected and self.nearest[context] == caller:
                self._add(time, context)
        return time

    def rows(self) -> list[NumberedModules]:
        """Return all rows of numbered modules, those of DeepSpeed's ``PipelineModule`` first, then by time."""
        modules = self.trace.modules
        found: dict[tuple[int, str], dict[int, int]] = defaultdict(dict)
        for module, (parent, name) in enumerate(zip(modules["parent"], modules["name"], strict=True)):
            prefix, _, last = name.rpartition(".")
            if _NUMBER.fullmatch(last) and self.modules[module].calls:
                found[parent, prefix][int(last)] = module
        rows = []
        for (parent, prefix), members in found.items():
            above = modules["path"][parent] if parent >= 0 else ""
            rows.append(NumberedModules(parent, prefix, ".".join(part for part in (above, prefix) if part), members))
        return sorted(rows, key=self._order)

    def _order(self, row: NumberedModules) -> tuple[bool, int]:
        pipeline = row.parent >= 0 and self.trace.modules["class"][row.parent] == "PipelineModule"
        times = [self.modules[module] for module in row.modules.values()]
        return not pipeline, -sum(time.forward + time.backward for time in times)

    def _is_inside(self, context: int, module: int) -> bool:
        above = self.contexts["parent"][context]
        while above >= 0 and self.contexts["module"][above] != module:
            above = self.contexts["parent"][above]
        return bool(above >= 0)

    def _add(self, time: ModuleTime, context: int) -> None:
        columns = self.contexts
        time.backward += columns["backward"][context]
        if self.inside_autograd[context]:
            time.backward += columns["total"][context]
        else:
            time.calls += columns["calls"][context]
            time.forward += columns["total"][context]


def recorded_layers(trace: Trace, within: str | None = None) -> tuple[Layers, list[int], list[str]]:
    """Return the layers of a recording, their times in nanoseconds, and notes.

    ``within``: the module whose numbered children they are; None chooses.
    """
    times = _times(trace)
    stages = _stages(trace) if within is None else {}
    if len(stages) > 1:
        return _layers_of_stages(trace, stages)
    row = _choose(times.rows(), within)
    modules = trace.modules
    count = max(row.modules) + 1
    names = [modules["class"][row.modules[at]] if at in row.modules else None for at in range(count)]
    path = f"{row.prefix}." if row.prefix else ""
    layers = Layers(
        items=names,
        names=names,
        shown=[name or "<no module>" for name in names],
        paths=[f"{path}{at}" for at in range(count)],
    )
    weights = [times.modules[row.modules[at]].mean if at in row.modules else 0 for at in range(count)]
    return layers, weights, list(_notes(trace, row, names))


def _stages(trace: Trace) -> dict[int, list[tuple[int, list[str]]]]:
    """Return the stages of an engine that numbers the layers of each stage anew: the indexes of their ranks, with the
    layers as ``path: class``. Empty without such an engine."""
    stages: dict[int, list[tuple[int, list[str]]]] = defaultdict(list)
    for index, rank in enumerate(trace.ranks):
        fact = mapping(rank["meta"].get("pipeline"))
        rows = [] if fact.get("engine") == "deepspeed" else fact.get("layers") or []
        for row in rows:
            stages[row["stage"]].append((index, row["names"]))
    names = [name for ranks in stages.values() for name in ranks[0][1]]
    return dict(sorted(stages.items())) if len({*names}) < len(names) else {}


def _layers_of_stages(
    trace: Trace, stages: dict[int, list[tuple[int, list[str]]]]
) -> tuple[Layers, list[int], list[str]]:
    """Return the layers of all stages, one stage after the other. The layers of two stages of one rank have the same
    names, so that their times are not known."""
    if [*stages] != [*range(len(stages))]:
        raise Error("the recording has not all stages of the pipeline: give the recordings of all ranks")
    held = [index for ranks in stages.values() for index, _ in ranks]
    if len({*held}) < len(held):
        raise Error("a rank has several stages, whose layers have the same names: give the model, or times of layers")
    names, paths, weights = list[str](), list[str](), list[int]()
    for stage, ranks in stages.items():
        found = [_times_of_stage(ModuleTimes(trace, index), listed) for index, listed in ranks]
        for place, text in enumerate(ranks[0][1]):
            path, _, name = text.partition(": ")
            names.append(name)
            paths.append(f"stage {stage}: {path}")
            weights.append(round(sum(times[place] for times in found) / len(found)))
    return Layers(items=names, names=names, shown=names, paths=paths), weights, []


def _times_of_stage(times: ModuleTimes, listed: list[str]) -> list[int]:
    """Return the mean times of the listed layers, by the end of their paths: wrappers of the stage add to these."""
    modules = times.trace.modules
    found = []
    for text in listed:
        path, _, name = text.partition(": ")
        rows = [
            row
            for row, (own, kind) in enumerate(zip(modules["path"], modules["class"], strict=True))
            if kind == name and f".{own}".endswith(f".{path}") and row in times.modules and times.modules[row].calls
        ]
        if not rows:
            raise Error(f"layer {path} of a stage never ran in the recording")
        found.append(times.modules[min(rows, key=lambda row: len(modules["path"][row]))].mean)
    return found


def times_of(layers: Layers, trace: Trace) -> tuple[list[int], list[str]]:
    """Return the nanoseconds of forward and backward of each of these layers in a recording, and notes. Functions are
    identified by their code; those without Python code count as 0."""
    times = _times(trace)
    row = _match(layers, times)
    weights = [_mean(item, at, layers, times, row) for at, item in enumerate(layers.items)]
    return weights, []


def _times(trace: Trace) -> ModuleTimes:
    if not any(rank["timing"] for rank in trace.ranks):
        raise Error("the recording has counts and no times: record with timing=True")
    return ModuleTimes(trace)


def _choose(rows: Sequence[NumberedModules], within: str | None) -> NumberedModules:
    if not rows:
        raise Error("no layers in the recording: it has no call of a PipelineModule, nn.Sequential or ModuleList")
    if within is None:
        return rows[0]
    for row in rows:
        if row.path == within:
            return row
    known = ", ".join(repr(row.path) for row in rows[:5]) + (", ..." if len(rows) > 5 else "")
    raise Error(f"no layers within {within!r} in the recording: layers exist within {known}")


def _notes(trace: Trace, row: NumberedModules, names: Sequence[str | None]) -> list[str]:
    notes = []
    missing = [at for at, name in enumerate(names) if name is None]
    if missing:
        listed = ", ".join(map(str, missing[:5])) + (", ..." if len(missing) > 5 else "")
        notes.append(f"layers {listed} are functions or shared modules: weight 0; give the model for their times")
    tied = {
        name
        for parent, name in zip(trace.modules["parent"], trace.modules["name"], strict=True)
        if parent == row.parent and name.startswith("tied_modules.")
    }
    if tied:
        notes.append(f"{', '.join(sorted(tied))}: a recording has no positions of tied layers: give the model too")
    absent = sorted(set(range(max(rank["world"] for rank in trace.ranks))) - {rank["rank"] for rank in trace.ranks})
    if absent:
        notes.append(f"no recording of rank {', '.join(map(str, absent[:5]))}: layers that ran only there are missing")
    return notes


def _match(layers: Layers, times: ModuleTimes) -> NumberedModules:
    """Return the row of modules with the classes of these layers."""
    classes = times.trace.modules["class"]
    wrong = "it has no numbered modules"
    for row in times.rows():
        expected = {at: layers.names[at] for at in row.modules if at < len(layers)}
        differing = [at for at, name in expected.items() if classes[row.modules[at]] != name]
        if max(row.modules) >= len(layers):
            wrong = f"{row.path or 'the model'} has a layer {max(row.modules)}"
        elif differing:
            at = differing[0]
            wrong = f"layer {at} of {row.path or 'the model'} is a {classes[row.modules[at]]}, not {layers.names[at]}"
        else:
            return row
    raise Error(f"the recording is not one of these layers: {wrong}")


def _mean(item: Any, at: int, layers: Layers, times: ModuleTimes, row: NumberedModules) -> int:
    """Return the time of the layer at place ``at``."""
    run = getattr(item, "forward_fn", None) if is_spec(item) else item
    if is_module(item) or run is None:
        module = _module(item, at, layers, times, row)
        if module is None:
            raise Error(
                f"layer {at} ({layers.shown[at]}) never ran in the recording: give the recordings of all stages"
            )
        return times.modules[module].mean
    while isinstance(run, functools.partial):
        run = run.func
    code = getattr(run, "__code__", None)
    return times.function(code, row.parent).mean if isinstance(code, CodeType) else 0


def _module(item: Any, at: int, layers: Layers, times: ModuleTimes, row: NumberedModules) -> int | None:
    key = getattr(item, "key", None) if is_spec(item) else None
    if key is not None:
        modules = times.trace.modules
        for module, (parent, name) in enumerate(zip(modules["parent"], modules["name"], strict=True)):
            if parent == row.parent and name == f"tied_modules.{key}":
                return module
        return None
    # A module with several places was named by the first.
    first = next(index for index, other in enumerate(layers.items) if other is item) if is_module(item) else at
    return row.modules.get(first)
