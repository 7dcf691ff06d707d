"""Selection of the back end that records PyTorch's operators."""

import json
from collections.abc import Callable
from typing import Any, Literal

from fastdispatch._core import Error, Session
from fastdispatch.record import probe
from fastdispatch.record.dispatch import DispatchMode, limits
from fastdispatch.record.environment import torch_version


class Operators:
    """The back end of a running session: ``source`` is its name, ``reason`` the reason for its choice."""

    def __init__(self, session: Session, wanted: str, operands: bool = False, measured: bool = False) -> None:
        self._mode: DispatchMode | None = None
        self.source: Literal["record", "dispatch"] = "dispatch"
        self.reason = "requested"
        wanted = "record" if operands or measured else wanted
        if wanted != "dispatch":
            try:
                layout = session.attach_records(probe.run)
            except Error as error:
                if wanted == "record":
                    raise Error(f"ops='record': {error}: use ops='dispatch'") from None
                self.reason = f"record refused: {error}"
            else:
                self.source = "record"
                self.reason = f"self-test passed: {layout}"
                if operands or measured:
                    probe.attach_operands(session, teller(session) if operands else None)
                return
        self.reason = "; ".join(filter(None, [self.reason, limits()]))
        self._mode = DispatchMode()
        self._mode.push()

    def facts(self) -> dict[str, object]:
        """Return facts of the recording."""
        return {"ops": self.source, "ops_reason": self.reason, "torch": torch_version()}

    def detach(self) -> None:
        """Remove a dispatch mode; record functions end with the session."""
        if self._mode is not None:
            self._mode.remove()
            self._mode = None


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
