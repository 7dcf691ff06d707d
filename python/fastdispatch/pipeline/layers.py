"""Layers of a pipeline in all accepted forms: their names and numbers of parameters."""

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from numbers import Integral, Real
from typing import Any

from fastdispatch._core import Error


class PipelineRuntimeError(Error, RuntimeError):
    """A ``RuntimeError`` of DeepSpeed, with its text."""


class PipelineNotImplementedError(Error, NotImplementedError):
    """A ``NotImplementedError`` of DeepSpeed, with its text."""


Number = int | float


@dataclass(frozen=True)
class Layers:
    """One entry per layer: the object (a spec, module, function or number), its name for ``type:REGEX`` (None: none)
    and as DeepSpeed prints it."""

    items: Sequence[Any]
    names: Sequence[str | None]
    shown: Sequence[str]
    loss: Any = None
    #: The layers are numbers, and these are the weights.
    numbers: list[Number] | None = None
    #: Paths in the model: "3", "blocks.3".
    paths: Sequence[str] = field(default=())

    def __len__(self) -> int:
        return len(self.items)

    @cached_property
    def parameters(self) -> list[int]:
        """Return the number of trainable parameters of each layer. Specs are built and dropped one at a time."""
        return [_parameters(item) for item in self.items]


def layers_of(given: Any) -> Layers:
    """Return the layers of a ``PipelineModule``, ``nn.Sequential`` or ``ModuleList``, or of anything that lists layers
    or weights."""
    # DeepSpeed's module keeps the specs: a rank builds only its own stage.
    items = list(given._layer_specs) if hasattr(given, "_layer_specs") else _listed(given)
    for index, item in enumerate(items):
        if _is(item, "PipelineModule"):
            raise PipelineNotImplementedError("RECURSIVE BUILD NOT YET IMPLEMENTED")
        if not (isinstance(item, Real) or is_spec(item) or callable(item)):
            raise Error(f"layer {index} is {item!r}: neither a weight nor a layer")
    numbers = [_number(item) for item in items if isinstance(item, Real)]
    if numbers and len(numbers) < len(items):
        raise Error("layers: numbers and layers are mixed: give weights, or layers")
    return Layers(
        items=items,
        names=[type_name(item) for item in items],
        shown=[type_name(item) or str(item) for item in items],  # as DeepSpeed prints them
        loss=getattr(given, "loss_fn", None),
        numbers=numbers if numbers or not items else None,
        paths=[str(index) for index in range(len(items))],
    )


def weights_of(given: Iterable[Any]) -> list[Number]:
    """Return numbers, one per layer."""
    weights = []
    for index, item in enumerate(_listed(given)):
        if not isinstance(item, Real):
            raise Error(f"layer {index}: its weight is {item!r}: not a number")
        weights.append(_number(item))
    return weights


def type_name(item: Any) -> str | None:
    """Return the text for ``type:REGEX``: the class of a spec or module, the name of a function."""
    if _is(item, "LayerSpec"):
        return str(item.typename.__name__)
    if is_module(item):
        return type(item).__name__
    return getattr(item, "__name__", None)


def is_module(item: Any) -> bool:
    """Return whether it is an ``nn.Module``; False in a process that has not imported PyTorch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(item, torch.nn.Module)


def is_spec(item: Any) -> bool:
    """Return whether it is DeepSpeed's ``LayerSpec``."""
    return _is(item, "LayerSpec")


def _is(item: Any, name: str) -> bool:
    pipe = sys.modules.get("deepspeed.runtime.pipe.module")
    return pipe is not None and isinstance(item, getattr(pipe, name))


def _listed(given: Any) -> list[Any]:
    if hasattr(given, "tolist"):  # an array or a tensor
        given = given.tolist()
    try:
        return list(given)
    except TypeError:
        what = type(given).__name__
        raise Error(f"layers: {what} is not a sequence of layers: give nn.Sequential or a list of layers") from None


def _number(item: Real) -> Number:
    return int(item) if isinstance(item, Integral) else float(item)


def _parameters(item: Any) -> int:
    if _is(item, "LayerSpec"):
        import torch

        with torch.random.fork_rng(devices=[]):  # keep the random state of the program
            return _parameters(item.build())
    if is_module(item):
        return sum(each.numel() for each in item.parameters() if each.requires_grad)
    return 0
