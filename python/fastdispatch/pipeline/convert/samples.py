"""Sample data for a model: from the description of the user, or in the shapes and types that its first layers need."""

import re
from collections.abc import Callable, Iterator
from typing import Any

from fastdispatch._core import Error
from fastdispatch.pipeline.convert.describe import Description, describe
from fastdispatch.pipeline.convert.stage_plans import PackagePlan

_FORM = re.compile(r"(?P<shape>\d+(?:x\d+)*)(?::(?P<dtype>\w+)(?::(?P<end>\d+))?)?(?:@(?P<dim>\d))?")
_HINT = "give the shapes with --inputs, e.g. 2x3x32x32 or 4x8:int64:100 (integers below 100), separated by commas"

#: Of a class: the shape of a small input, from its arguments.
_SHAPES: dict[str, Callable[[list[int]], tuple[int, ...]]] = {
    "Linear": lambda a: (4, a[0]),
    "Conv1d": lambda a: (2, a[0], 32),
    "Conv2d": lambda a: (2, a[0], 32, 32),
    "Conv3d": lambda a: (2, a[0], 8, 8, 8),
    "BatchNorm1d": lambda a: (4, a[0]),
    "BatchNorm2d": lambda a: (2, a[0], 16, 16),
    "LSTM": lambda a: (5, 2, a[0]),
    "GRU": lambda a: (5, 2, a[0]),
    "RNN": lambda a: (5, 2, a[0]),
    "Bilinear": lambda a: (4, a[0]),
}


#: (shape, dtype, end of integers, dimension of the batch)
Form = tuple[tuple[int, ...], str, int, int]


def forms(text: str | None, plan: PackagePlan) -> list[Form]:
    """Return the specification of each input of the model."""
    parts = text.split(",") if text else [_guess(plan, id) for id in plan.inputs]
    if len(parts) != len(plan.inputs):
        raise Error(f"--inputs {text}: {len(parts)} of {len(plan.inputs)} inputs")
    return [_read(part.strip()) for part in parts]


def samples(text: str | None, plan: PackagePlan) -> list[Any]:
    """Return one tensor per input of the model."""
    import torch

    generator = torch.Generator().manual_seed(7)
    found = []
    for shape, name, end, _ in forms(text, plan):
        dtype = getattr(torch, name, None)
        if not isinstance(dtype, torch.dtype):
            raise Error(f"--inputs: torch has no dtype {name}: {_HINT}")
        value = (
            torch.randn
            if dtype.is_floating_point
            else lambda size, generator, end=end: torch.randint(end, size, generator=generator)
        )
        found.append(value(shape, generator=generator).to(dtype))
    return found


def _read(text: str) -> Form:
    found = _FORM.fullmatch(text)
    shape = tuple(map(int, found["shape"].split("x"))) if found else ()
    dim = int(found["dim"] or 0) if found else 0
    if found is None or dim >= len(shape):
        raise Error(f"--inputs: {text!r}: {_HINT}")
    return shape, found["dtype"] or "float32", max(int(found["end"] or 2), 1), dim


_SEQUENCES = ("LSTM", "GRU", "RNN")


def _guess(plan: PackagePlan, id: str) -> str:
    about = plan.graph.nodes[id].about
    shape, dtypes = about.get("shape"), about.get("dtypes")
    if isinstance(shape, list) and shape and all(isinstance(each, int) for each in shape):
        dtype = dtypes[0] if isinstance(dtypes, list) and dtypes else "float32"
        ends = [each.args[0] for each in _behind(plan, id) if each.name == "Embedding" and each.args]
        return f"{'x'.join(map(str, shape))}:{dtype}" + (f":{ends[0]}" if ends and "int" in str(dtype) else "")
    for found in _behind(plan, id):
        values = [*found.args, *found.keywords.values()]
        numbers = [int(value) for value in values if re.fullmatch(r"\d+", value)]
        if found.name == "Embedding":
            return f"4x8:int64:{numbers[0]}"
        if found.name in _SHAPES and numbers:
            return "x".join(map(str, _SHAPES[found.name](numbers))) + ("@1" if found.name in _SEQUENCES else "")
    raise Error(f"{plan.graph.nodes[id]}: its shape is not known: {_HINT}")


def _behind(plan: PackagePlan, id: str) -> Iterator[Description]:
    """Layers that read a value, nearest first."""
    waiting, seen = [id], {id}
    while waiting:
        here = waiting.pop(0)
        for target in plan.graph.targets_of[here]:
            if target in seen:
                continue
            seen.add(target)
            waiting.append(target)
            try:
                yield describe(plan.graph.nodes[target].name)
            except Error:
                continue
