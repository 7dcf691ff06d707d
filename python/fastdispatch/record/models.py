"""What is in a model: the layers, parameters and buffers that a recording for execution traces keeps of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from fastdispatch._core import Session


def teller(session: Session) -> Callable[[Any], None]:
    """What the recording calls with each model, at its first call: a note of what is in it, under its address."""

    def tell(model: Any) -> None:
        session.note(f"model {id(model)}", json.dumps(contents(model)))

    return tell


def contents(model: Any) -> dict[str, Any]:
    """Of each module its address, path and, of a leaf, what it is; of each parameter and buffer, under each of its
    names, the address of its tensor, dtype and bytes."""
    return {
        "class": type(model).__name__,
        "modules": [
            [id(module), path, _told(module) if is_leaf(module) else ""]
            for path, module in model.named_modules(remove_duplicate=False)
        ],
        "parameters": [_row(name, each) for name, each in model.named_parameters(remove_duplicate=False)],
        "buffers": [_row(name, each) for name, each in model.named_buffers(remove_duplicate=False)],
    }


def is_leaf(module: Any) -> bool:
    """Whether a module is a layer: without parts of its own, or one of torch.nn's that is no container."""
    from torch import nn

    if not any(True for _ in module.children()):
        return True
    containers = (nn.Sequential, nn.ModuleList, nn.ModuleDict)
    return type(module).__module__.startswith("torch.nn.") and not isinstance(module, containers)


def _told(module: Any) -> str:
    try:
        return repr(module)
    except Exception:  # the program's own: a recording must not fail for it
        return f"{type(module).__name__}()"


def _row(name: str, tensor: Any) -> list[Any]:
    try:
        size = int(tensor.numel() * tensor.element_size())
    except (RuntimeError, ValueError):  # of a lazy module
        size = 0
    return [name, tensor._cdata, str(tensor.dtype).removeprefix("torch."), size]
