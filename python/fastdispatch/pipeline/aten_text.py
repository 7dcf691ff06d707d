"""The name and the call of the node of a recorded operator, ``%0.softmax(-1)``, for ``pipeline convert``."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import torch
from torch import Tensor

_SIGNS = {"add": "+", "sub": "-", "mul": "*", "div": "/", "floor_divide": "//", "remainder": "%", "pow": "**"}
_SIGNS |= {"matmul": "@", "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_DTYPES = (
    *("uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "complex32", "complex64"),
    *("complex128", "bool", "qint8", "quint8", "qint32", "bfloat16"),
)
_FORMATS = ("contiguous_format", "preserve_format", "channels_last", "channels_last_3d")
#: Operators of losses whose function has another name, and the values of their parameter ``reduction``.
_LOSSES = {"cross_entropy_loss": "cross_entropy", "nll_loss_nd": "nll_loss"}
_REDUCTIONS = ("none", "mean", "sum")
_LAST = 2**63 - 1  # of a slice without an end


class _NoText(Exception):
    """An argument that is not plain data."""


class _Parameter(NamedTuple):
    """Of a schema."""

    kind: str
    name: str
    default: str | None
    named: bool  # behind the *


@cache
def parameters(schema: str) -> tuple[_Parameter, ...]:
    """Return the parameters in a schema; empty without a schema."""
    found = []
    named = False
    for part in _parts(schema.partition("(")[2].rpartition(") ->")[0]):
        if part == "*":
            named = True
            continue
        match = re.fullmatch(r"(.+?) (\w+)(?:=(.*))?", part)
        if match:
            found.append(_Parameter(match[1], match[2], match[3], named))
    return tuple(found)


def _parts(text: str) -> list[str]:
    parts, depth, last = [], 0, 0
    for index, letter in enumerate(text):
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and not depth:
            parts.append(text[last:index].strip())
            last = index + 1
    return [*parts, text[last:].strip()] if text.strip() else []


def is_tensor(fact: Any) -> bool:
    return isinstance(fact, dict) and "storage" in fact


class CallText:
    """A call. ``is_edge``: whether a tensor is a value of the graph; ``is_number``: whether it stands for a number."""

    def __init__(
        self,
        name: str,
        schema: str,
        values: Sequence[Any],
        is_edge: Callable[[Mapping[str, Any]], bool],
        is_number: Callable[[Mapping[str, Any]], bool],
    ) -> None:
        self._base = name.split("::")[-1]
        self._is_edge, self._is_number = is_edge, is_number
        known = parameters(schema)
        known = known if len(known) >= len(values) else tuple(_Parameter("", "", None, False) for _ in values)
        given = list(zip(known, values, strict=False))
        while given and self._is_default(*given[-1]):
            given.pop()
        self._by_place = [each for each in given if not each[0].named]
        while self._by_place and self._is_default(*self._by_place[-1]):
            self._by_place.pop()
        self._by_name = [each for each in given if each[0].named and not self._is_default(*each)]
        self._count = 0

    def name(self) -> str:
        """Return the name of the node."""
        plain = [(each, value) for each, value in self._by_place if not self._holds_tensors(value)]
        inplace = self._base.endswith("_") and not self._base.endswith("__")
        base = self._base.rstrip("_") if inplace else self._base
        if base in ("add", "mul") and not plain and not self._by_name:
            return {"add": "Add", "mul": "Mul"}[base] + ("(inplace)" if inplace and base == "add" else "")
        if base == "cat":
            return f"Concat({plain[0][1] if plain else 0})"
        if base == "transpose":
            return f"Transpose({', '.join(str(value) for _, value in plain)})"
        texts = [_shown(value, each.kind) for each, value in plain]
        texts += [f"{each.name}={_shown(value, each.kind)}" for each, value in self._by_name]
        return f"{self._base}({', '.join(texts)})"

    def _holds_tensors(self, value: Any) -> bool:
        if is_tensor(value):
            return not self._is_number(value)
        return isinstance(value, list) and any(map(self._holds_tensors, value))

    def call(self) -> str:
        """Return the call as text; empty if an argument is not plain data, or is a parameter."""
        try:
            return self._special() or self._written()
        except _NoText:
            return ""

    def _special(self) -> str:
        values = [value for _, value in self._by_place]
        if self._base in _SIGNS and len(values) == 2 and not self._by_name:
            return f" {_SIGNS[self._base]} ".join(map(self._text, values))
        if self._base == "rsub" and len(values) == 2 and not self._holds_tensors(values[1]):
            return f"{self._text(values[1])} - {self._text(values[0])}"
        if self._base == "slice" and is_tensor(values[0]):
            source = self._text(values[0])
            defaults: list[Any] = [0, None, None, 1]
            dim, start, end, step = values[1:] + defaults[len(values) - 1 :]
            begin = "" if not start else str(start)
            last = "" if end in (None, _LAST) else str(end)
            return f"{source}[{':, ' * dim}{begin}:{last}{'' if step == 1 else f':{step}'}]" if dim >= 0 else ""
        if self._base == "index" and len(values) == 2 and isinstance(values[1], list):
            source = self._text(values[0])
            return f"{source}[{', '.join(':' if each is None else self._text(each) for each in values[1])}]"
        return ""

    def _loss(self) -> str:
        """Return the call of a loss, whose function has other parameters than its operator."""
        name = _LOSSES.get(self._base, self._base)
        if not hasattr(torch.nn.functional, name):
            raise _NoText
        texts = []
        for index, (each, value) in enumerate(self._by_place):
            reduction = each.name == "reduction" and value in (0, 1, 2)
            text = repr(_REDUCTIONS[value]) if reduction else self._text(value, each.kind)
            texts.append(text if index < 2 else f"{each.name}={text}")
        return f"torch.nn.functional.{name}({', '.join(texts)})"

    def _written(self) -> str:
        if self._base in _LOSSES or any(each.name == "reduction" for each, _ in self._by_place):
            return self._loss()
        texts = [self._text(value, each.kind) for each, value in self._by_place]
        named = [f"{each.name}={self._text(value, each.kind)}" for each, value in self._by_name]
        first = self._by_place[0] if self._by_place else None
        if first and is_tensor(first[1]) and first[0].name == "self" and hasattr(Tensor, self._base):
            return f"{texts[0]}.{self._base}({', '.join([*texts[1:], *named])})"
        for module, path in ((torch, "torch"), (torch.nn.functional, "torch.nn.functional")):
            if hasattr(module, self._base):
                return f"{path}.{self._base}({', '.join([*texts, *named])})"
        raise _NoText

    def _text(self, value: Any, kind: str = "") -> str:
        if is_tensor(value):
            return self._tensor(value)
        if isinstance(value, list):
            return f"[{', '.join(self._text(each, kind.rstrip('?]0123456789[')) for each in value)}]"
        if isinstance(value, bool) or value is None or isinstance(value, (float, str)):
            return repr(value)
        if isinstance(value, int):
            return _enumerated(value, kind.rstrip("?"))
        raise _NoText

    def _tensor(self, fact: Mapping[str, Any]) -> str:
        if self._is_number(fact):
            if fact["value"] is None:
                raise _NoText
            return repr(fact["value"])
        if not self._is_edge(fact):
            raise _NoText
        self._count += 1
        return f"%{self._count - 1}"

    def _is_default(self, parameter: _Parameter, value: Any) -> bool:
        if parameter.kind.startswith("Device") and isinstance(value, dict):
            return str(value.get("device", "")).startswith("cpu")
        if parameter.kind.startswith("Layout") and value == 0:
            return True
        if parameter.name == "pin_memory" and not value:
            return True
        if parameter.default is None or is_tensor(value):
            return False
        if isinstance(value, list):
            return parameter.default in (str(value), "[]") and (bool(value) == (parameter.default != "[]"))
        return parameter.default == str(value) or (parameter.default in _FORMATS and value == 0)


def _shown(value: Any, kind: str) -> str:
    if is_tensor(value):
        return repr(value.get("value"))
    if isinstance(value, int) and not isinstance(value, bool):
        try:
            return _enumerated(value, kind.rstrip("?"))
        except _NoText:
            return "..."
    return "..." if isinstance(value, dict) else repr(value)


def _enumerated(value: int, kind: str) -> str:
    if kind == "ScalarType":
        if value >= len(_DTYPES):
            raise _NoText
        return f"torch.{_DTYPES[value]}"
    if kind == "MemoryFormat":
        if value >= len(_FORMATS):
            raise _NoText
        return f"torch.{_FORMATS[value]}"
    return str(value)
