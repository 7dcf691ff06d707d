"""The call of a layer as text, ``torch.add(%0, %1, alpha=2)``: what ``pipeline convert`` writes into a program."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.overrides import resolve_name

_SIGNS = {"add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**", "matmul": "@"}
_COMPARISONS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_MODULES = {
    "torch._C._nn": "torch.nn.functional",
    "torch._C._special": "torch.special",
    "torch._C._linalg": "torch.linalg",
}


class _Untold(Exception):
    """An argument that is no data."""


class _Places:
    """Tensors in the order in which they are met: ``%0``, ``%1``."""

    def __init__(self, is_edge: Callable[[Tensor], bool]):
        self._is_edge = is_edge
        self.count = 0

    def text(self, value: Any) -> str:
        if isinstance(value, Tensor):
            if not self._is_edge(value):
                raise _Untold
            self.count += 1
            return f"%{self.count - 1}"
        if isinstance(value, (tuple, list)):
            inner = [self.text(each) for each in value]
            alone = "," if len(inner) == 1 and isinstance(value, tuple) else ""
            return f"({', '.join(inner)}{alone})" if isinstance(value, tuple) else f"[{', '.join(inner)}]"
        if isinstance(value, slice):
            return f"slice({', '.join(self.text(each) for each in (value.start, value.stop, value.step))})"
        if value is None or value is Ellipsis or isinstance(value, (bool, int, str)):
            return "..." if value is Ellipsis else repr(value)
        if isinstance(value, float) and value - value == 0:
            return repr(value)
        if isinstance(value, (torch.dtype, torch.memory_format)):
            return str(value)
        raise _Untold


def function_call(
    function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], is_edge: Callable[[Tensor], bool]
) -> str:
    """A call of a function of PyTorch's; empty where an argument is no data, or a parameter. ``is_edge``: whether a
    tensor is a value of the graph."""
    places = _Places(is_edge)
    try:
        return _function(str(resolve_name(function) or ""), args, kwargs, places)
    except _Untold:
        return ""


def _function(name: str, args: Sequence[Any], kwargs: Mapping[str, Any], places: _Places) -> str:
    module, _, last = name.rpartition(".")
    plain = last.strip("_")
    if module.endswith("Tensor") and last.startswith("__"):
        if plain == "getitem":
            source, index = args
            return f"{places.text(source)}[{_index(index, places)}]"
        return _operator(plain, args, places)
    texts = [places.text(each) for each in args]
    keywords = {key: each for key, each in kwargs.items() if not isinstance(each, torch.device) or each.type != "cpu"}
    named = [f"{key}={places.text(each)}" for key, each in keywords.items()]
    if module.endswith("Tensor"):
        return f"{texts[0]}.{last}({', '.join([*texts[1:], *named])})"
    return f"{_MODULES.get(module, module)}.{last}({', '.join([*texts, *named])})"


def _operator(plain: str, args: Sequence[Any], places: _Places) -> str:
    texts = [places.text(each) for each in args]
    sign = _SIGNS.get(plain) or _COMPARISONS.get(plain) or _SIGNS.get(plain.removeprefix("i"))
    if sign and len(texts) == 2:
        return f"{texts[0]} {sign} {texts[1]}"
    sign = _SIGNS.get(plain.removeprefix("r"))
    if sign and len(texts) == 2:
        return f"{texts[1]} {sign} {texts[0]}"
    if plain == "neg" and len(texts) == 1:
        return f"-{texts[0]}"
    raise _Untold


def _index(index: Any, places: _Places) -> str:
    return ", ".join(_part(each, places) for each in index) if isinstance(index, tuple) else _part(index, places)


def _part(value: Any, places: _Places) -> str:
    if not isinstance(value, slice):
        return places.text(value)
    parts = ["" if each is None else places.text(each) for each in (value.start, value.stop, value.step)]
    return ":".join(parts[:2] if value.step is None else parts)


def module_call(args: Sequence[Any], kwargs: Mapping[str, Any], is_edge: Callable[[Tensor], bool]) -> str:
    """The arguments of a call of a module, in parentheses; empty where they are just tensors, or no data."""
    places = _Places(is_edge)
    try:
        texts = [*map(places.text, args), *(f"{key}={places.text(each)}" for key, each in kwargs.items())]
    except _Untold:
        return ""
    plain = not kwargs and all(isinstance(each, Tensor) for each in args)
    return "" if plain else f"({', '.join(texts)})"
