"""Partition of layers into the stages of a pipeline."""

import os
import re
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby, pairwise
from typing import Any

from fastdispatch._core import Error
from fastdispatch.pipeline.balanced_cuts import cuts_of
from fastdispatch.pipeline.layers import (
    Layers,
    Number,
    PipelineNotImplementedError,
    PipelineRuntimeError,
    layers_of,
    weights_of,
)
from fastdispatch.pipeline.times import recorded_layers, times_of
from fastdispatch.read.trace import Trace, load


@dataclass(frozen=True)
class Partition:
    """Layers, their weights, and the cuts."""

    method: str
    layers: Layers
    weights: Sequence[Number]
    #: Unit of the weights: "parameters", "ns", "layers", "matches", or "" for given numbers.
    unit: str
    parts: list[int]
    #: Notes about the weights, one line each.
    notes: Sequence[str] = ()

    @property
    def stage_weights(self) -> list[Number]:
        """The sum of each stage."""
        return [sum(self.weights[first:last]) for first, last in zip(self.parts, self.parts[1:], strict=False)]


def partition(
    layers: Any,
    stages: int | None = None,
    method: str = "parameters",
    *,
    weights: Any = None,
    topology: Any = None,
    world_size: int | None = None,
    within: str | None = None,
) -> list[int]:
    """Return the cuts of a row of layers: ``stages`` + 1 ints; stage ``k`` has ``layers[parts[k]:parts[k + 1]]``.

    Parameters
    ----------
    layers:
        Weights (non-negative numbers); or layers: DeepSpeed's ``PipelineModule``, an ``nn.Sequential``, a list of
        ``LayerSpec``, modules and functions; or a recording: a path or a :class:`fastdispatch.Trace`.
    stages:
        From 1 on. None takes ``topology.get_dim("pipe")``.
    method:
        In any case of letters. As in DeepSpeed ``"uniform"`` (equal numbers of layers), ``"parameters"`` (trainable
        parameters) and ``"type:REGEX"`` (layers whose class or function name matches) give the cuts DeepSpeed gives.
        ``"profile"`` does the same with measured time: nanoseconds of forward and backward. ``"bottleneck"`` minimises
        the weight of the heaviest stage.
    weights:
        For ``profile`` and ``bottleneck``: numbers, one a layer, or a recording of a run of these layers. None: the
        layers' own, which are the numbers, the times of a recording, or (``bottleneck``) parameters.
    topology:
        DeepSpeed's; only its ``pipe`` dimension is read.
    world_size:
        Ranks of the job, which the stages must divide.
    within:
        Of a recording: the module whose numbered children the layers are, such as ``"blocks"``. None takes
        DeepSpeed's ``PipelineModule``, or where most time was spent.

    With fewer layers than stages the last stages are empty. Raises :class:`fastdispatch.Error` with one line; errors of
    DeepSpeed keep their type (``RuntimeError``, ``NotImplementedError``) and text.
    """
    done = cut(layers, stages, method, weights=weights, topology=topology, world_size=world_size, within=within)
    for note in done.notes:
        warnings.warn(note, stacklevel=2)
    return done.parts


def cut(
    layers: Any,
    stages: int | None = None,
    method: str = "parameters",
    *,
    weights: Any = None,
    topology: Any = None,
    world_size: int | None = None,
    within: str | None = None,
) -> Partition:
    """Partition layers, and return all facts."""
    count = _stages(stages, topology, world_size)
    row, own, unit, notes = _read(layers, within)
    lowered = method.lower()
    chosen: Sequence[Number]
    if lowered == "uniform":
        chosen, unit, rule = [1] * len(row), "layers", "uniform"
        _no_weights(method, weights)
    elif lowered.startswith("type:"):
        chosen, unit, rule = _matches(row, lowered.split(":")[1]), "matches", "balanced"
        _no_weights(method, weights)
    elif lowered in ("parameters", "profile", "bottleneck"):
        if weights is not None:
            own, unit, more = _given(row, weights)
            notes = [*notes, *more]
        chosen, unit = _own(row, own, unit, lowered)
        rule = "bottleneck" if lowered == "bottleneck" else "balanced"
    else:
        raise PipelineNotImplementedError(f"Partitioning method {lowered} not implemented.")
    return Partition(method, row, chosen, unit, cuts_of(_sums(chosen), count, rule), notes)


def stage_report(done: Partition, loss: Any = None) -> str:
    """Return the listing that DeepSpeed prints on its first rank: the method, the layers of each stage, the loss
    (default: the layers' own)."""
    lines = [f"Partitioning pipeline stages with method {done.method}"]
    for stage, (first, last) in enumerate(zip(done.parts, done.parts[1:], strict=False)):
        lines.append(f"stage={stage} layers={last - first}")
        lines += [f"    {at:2d}: {done.layers.shown[at]}" for at in range(first, last)]
    loss = loss or done.layers.loss
    if loss:
        lines.append(f"  loss: {getattr(loss, '__name__', type(loss).__name__)}")
    return "\n".join(lines) + "\n"


def is_recording(given: Any) -> bool:
    return isinstance(given, (str, os.PathLike, Trace))


def _stages(stages: int | None, topology: Any, world_size: int | None) -> int:
    if topology is not None:
        return int(topology.get_dim("pipe"))
    if stages is None:
        raise PipelineRuntimeError("must provide num_stages or topology")
    if stages < 1:
        raise Error(f"{stages} stages: at least one")
    if world_size is not None and world_size % stages != 0:
        raise PipelineRuntimeError(f"num_stages ({stages}) must divide distributed world size ({world_size})")
    return stages


def _read(layers: Any, within: str | None) -> tuple[Layers, list[Number] | None, str, list[str]]:
    """Return the layers, their weights (None: parameters, if requested), the unit, and notes."""
    if is_recording(layers):
        trace = layers if isinstance(layers, Trace) else load(layers)
        row, times, notes = recorded_layers(trace, within)
        return row, list(times), "ns", notes
    row = layers_of(layers)
    return row, row.numbers, "", []


def _given(row: Layers, weights: Any) -> tuple[list[Number], str, list[str]]:
    if is_recording(weights):
        times, notes = times_of(row, weights if isinstance(weights, Trace) else load(weights))
        return list(times), "ns", notes
    numbers = weights_of(weights)
    if len(numbers) != len(row):
        raise Error(f"{len(numbers)} weights for {len(row)} layers")
    return numbers, "", []


def _own(row: Layers, own: list[Number] | None, unit: str, method: str) -> tuple[Sequence[Number], str]:
    if own is None:
        if method == "profile":
            raise Error("method profile: no measured times: give a recording of these layers, weights=PATH")
        return row.parameters, "parameters"
    if method == "parameters" and unit == "ns":
        raise Error("method parameters: a recording has times but no parameters: use profile or bottleneck")
    return own, unit


def _no_weights(method: str, weights: Any) -> None:
    if weights is not None:
        raise Error(f"method {method}: weights are for profile and bottleneck")


def _matches(layers: Layers, expression: str) -> list[Number]:
    """Return 1 for each layer whose name matches the expression, which is lower-cased and ends at the second colon, as
    in DeepSpeed: ``\\D`` means ``\\d`` here."""
    try:
        compiled = re.compile(expression, re.IGNORECASE)
    except re.error as error:
        raise Error(f"method type:{expression}: invalid regular expression: {error}") from None
    found: list[Number] = [int(name is not None and compiled.search(name) is not None) for name in layers.names]
    if not any(found):
        raise PipelineRuntimeError(f"Partitioning '{expression}' found no valid layers to partition.")
    return found


def _sums(weights: Iterable[Number]) -> list[float]:
    """Return the sums of the first 0, 1, 2, ... weights: whole numbers exactly, others in order as doubles."""
    numbers = list(weights)
    if not all(isinstance(number, int) for number in numbers):
        numbers = [_double(number) + 0.0 for number in numbers]  # -0.0 is 0.0
    return [0.0, *map(_double, accumulate(numbers))]


def _double(number: Number) -> float:
    try:
        return float(number)
    except OverflowError:
        return float("inf") if number > 0 else float("-inf")


def with_parts(module: type[Any], parts: Sequence[int]) -> type[Any]:
    """Return a subclass of ``module`` (DeepSpeed's ``PipelineModule`` or derived from it) that is cut at ``parts``.

    They print their layers as DeepSpeed does, and do not use the ``partition_method`` they are given. Making one raises
    :class:`fastdispatch.Error` where its stages or layers are not as many as those of ``parts``.
    """
    cuts = [int(part) for part in parts]

    def _partition_layers(self: Any, method: str = "") -> None:
        if len(cuts) != self.num_stages + 1 or cuts[-1] != len(self._layer_specs):
            had = f"{self.num_stages} stages of {len(self._layer_specs)} layers"
            raise Error(f"parts {cuts} are {len(cuts) - 1} stages of {cuts[-1]} layers, the model has {had}")
        self.parts = list(cuts)
        if self.global_rank == 0:
            layers = layers_of(self._layer_specs)
            print(stage_report(Partition("parts", layers, (), "", cuts), self.loss_fn), end="")
        stage = self._topo.get_coord(self.global_rank).pipe
        self._set_bounds(start=cuts[stage], stop=cuts[stage + 1])

    return type(module.__name__, (module,), {"_partition_layers": _partition_layers, "__module__": module.__module__})


def split_points(parts: Sequence[int], names: Sequence[str] | None = None) -> list[str]:
    """Return the first layer of each stage except the first, for ``torch.distributed.pipelining``:
    ``split_spec={name: SplitPoint.BEGINNING for name in split_points(parts)}``.

    ``names``: of the layers in the model, ``["layers.0", "layers.1", ...]``; None: ``0``, ``1``, as in an
    ``nn.Sequential``. :class:`fastdispatch.Error` for a stage without layers, which torch does not have.
    """
    for stage, (first, last) in enumerate(pairwise(parts)):
        if first == last:
            raise Error(f"stage {stage} has no layers: torch needs one in each")
    return [str(part) if names is None else names[part] for part in parts[1:-1]]


def megatron_layout(parts: Sequence[int], kinds: str | None = None) -> str:
    """Return the value of Megatron's ``--pipeline-model-parallel-layout``: ``Et*3|t*4|t*2L``.

    ``kinds``: a letter a layer, ``E`` embedding, ``t`` transformer layer, ``m`` multi-token prediction, ``L`` loss.
    None: all are transformer layers, the first stage has the embedding besides and the last the loss.
    """
    letters = "t" * parts[-1] if kinds is None else kinds
    if len(letters) != parts[-1] or set(letters) - set("EtmL"):
        raise Error(f"kinds {letters!r}: one letter of E, t, m, L for each of {parts[-1]} layers")
    stages = [letters[first:last] for first, last in pairwise(parts)]
    if kinds is None:
        stages[0] = f"E{stages[0]}"
        stages[-1] += "L"
    return "|".join(map(_shortened, stages))


def _shortened(stage: str) -> str:
    runs = [(letter, len(list(run))) for letter, run in groupby(stage)]
    return "".join(f"{letter}*{count}" if count > 3 else letter * count for letter, count in runs)
