"""Contents of a model: the layers, parameters and buffers stored in a recording for execution traces."""

import json
from collections.abc import Callable
from typing import Any

from fastdispatch._core import Session


def teller(session: Session) -> Callable[[Any], None]:
    """Return the function that the recording calls at the first call of each model: it notes the contents."""

    def note_model(model: Any) -> None:
        session.note(f"model {id(model)}", json.dumps(contents(model)))

    return note_model


def contents(model: Any) -> dict[str, Any]:
    """Return address, path and, for a leaf, description of each module; address of the tensor, dtype and bytes of each
    parameter and buffer, under all its names."""
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
    """Return whether a module is a layer: it has no children, or is a torch.nn class other than a container."""
    from torch import nn

    if not any(True for _ in module.children()):
        return True
    containers = (nn.Sequential, nn.ModuleList, nn.ModuleDict)
    return type(module).__module__.startswith("torch.nn.") and not isinstance(module, containers)


def _told(module: Any) -> str:
    try:
        return repr(module)
    except Exception:  # code of the program: the recording must not fail
        return f"{type(module).__name__}()"


def _row(name: str, tensor: Any) -> list[Any]:
    try:
        size = int(tensor.numel() * tensor.element_size())
    except (RuntimeError, ValueError):  # of a lazy module
        size = 0
    return [name, tensor._cdata, str(tensor.dtype).removeprefix("torch."), size]
