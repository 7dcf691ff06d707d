"""Formulas of the FLOPs of custom operators: those of PyTorch's registry, and of :func:`flop_formula`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fastdispatch.read.trace import Trace

Formula = Callable[..., Any]

#: By operator, "mylib::attention".
_own: dict[str, Formula] = {}


def flop_formula(operator: str) -> Callable[[Formula], Formula]:
    """Decorate a function that returns the FLOPs of a call of ``operator`` (``"mylib::attention"``).

    It is called when a recording with ``measure="flops"`` ends, once for each combination of shapes, with the operands
    in order: the sizes of a tensor as a tuple, numbers, truth values, lists, and None for others; without those at the
    end that are None.
    """

    def register(formula: Formula) -> Formula:
        _own[operator] = formula
        return formula

    return register


def formulas() -> dict[str, Formula]:
    """Return all formulas by operator; each gets parsed operands."""
    counter: Any = sys.modules.get("torch.utils.flop_counter")
    found: dict[str, Formula] = {}
    for packet, formula in dict(getattr(counter, "flop_registry", {})).items():
        name = getattr(packet, "_qualified_op_name", None)
        if isinstance(name, str) and not name.startswith("aten::"):
            found[name] = _registered(packet, formula)
    return found | {name: _of_sizes(formula) for name, formula in _own.items()}


def counted_at_end(load: Callable[[], Trace]) -> dict[str, object]:
    """Return the fact ``flop_formulas`` (docs/formats/recording.md) of a recording that ends; empty without a formula
    for a recorded call. It is read only if there is a formula."""
    from fastdispatch.measures.shapes import recorded_texts

    try:
        known = formulas()
        texts_of = recorded_texts(load()) if known else {}
        made = {name: _evaluated(known[name], texts) for name, texts in texts_of.items() if name in known}
    except Exception:  # the recording ends without this fact: its operators remain unknown
        return {}
    return {"flop_formulas": made} if made else {}


def _evaluated(formula: Formula, texts: list[str]) -> dict[str, object]:
    """Apply a formula to each combination of operands until it fails."""
    from fastdispatch.measures.shapes import operands_of

    found: dict[str, int] = {}
    for text in texts:
        operands = operands_of(text)
        try:
            if operands.cut:
                raise ValueError("there are too many operands")
            flops = int(formula(operands.values))
            if not 0 <= flops < 2**63:
                raise ValueError(f"{flops} FLOPs")
        except Exception as error:  # a function of the program
            return {"flops": {}, "failed": f"{type(error).__name__}: {error}"[:200]}
        found[text] = flops
    return {"flops": found, "failed": ""}


def _of_sizes(formula: Formula) -> Formula:
    def call(values: list[Any]) -> Any:
        return formula(*(_sizes(value) for value in values))

    return call


def _sizes(value: Any) -> Any:
    if isinstance(value, list):
        return [_sizes(each) for each in value]
    return getattr(value, "sizes", value)


def _registered(packet: Any, formula: Formula) -> Formula:
    """Return a function that calls a formula of PyTorch's registry as FlopCounterMode does, without an output."""

    def call(values: list[Any]) -> Any:
        import torch
        from torch.utils._python_dispatch import _disable_current_modes

        arguments = getattr(packet, packet.overloads()[0])._schema.arguments
        with torch._C.DisableTorchFunction(), _disable_current_modes():
            tensors = [_meta(torch, value) for value in values]
            named = {
                argument.name: value
                for argument, value in zip(arguments, tensors, strict=False)
                if argument.kwarg_only and value is not None
            }
            plain = [value for argument, value in zip(arguments, tensors, strict=False) if not argument.kwarg_only]
            return formula(*plain, **named, out_val=None)

    return call


def _meta(torch: Any, value: Any) -> Any:
    """Return a tensor of these sizes without memory."""
    if isinstance(value, list):
        return [_meta(torch, each) for each in value]
    sizes = getattr(value, "sizes", None)
    return value if sizes is None else torch.empty(sizes, dtype=getattr(torch, value.dtype), device="meta")
