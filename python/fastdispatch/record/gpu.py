"""Kernels of GPUs and GPU times of selected calls; devices without either."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fastdispatch import _core
from fastdispatch._core import Error

if TYPE_CHECKING:
    from fastdispatch._core import Session

#: Maximum wait for the GPU at the end of a recording.
PATIENCE_MS = 2000

_MODES = {"off": 0, "auto": 1, "require": 2}
_KINDS = ("kernels", "modules", "functions", "jobs")


@dataclass(frozen=True)
class Gpu:
    """Kernels of the GPU, and GPU intervals: time of a stream of CUDA or HIP from the start of a call to its end
    (docs/guides/gpu.md). Kernels are recorded in every recorded step, intervals in the 9th and then in one of 32.

    Parameters
    ----------
    contexts:
        What to record, separated by commas (or ``+``): ``kernels`` (also copies and fills), and intervals of calls:
        ``modules`` (forward of ``nn.Module``), ``functions`` (all Python calls), ``jobs``, or globs of keys and names
        (``*:[Block]:*``). Where kernels cannot be recorded, intervals of modules are.
    require:
        Refuse to start without a usable GPU, as ``gpu="require"`` does.

    Raises :class:`fastdispatch.Error` for other values.
    """

    contexts: str = "kernels"
    require: bool = False

    def __post_init__(self) -> None:
        if not self.parts() or not all(self.parts()):
            raise Error(f"gpu contexts={self.contexts!r}: write {', '.join(_KINDS)} or globs, with commas between them")
        for part in self.parts():
            if part not in _KINDS and not set(part) & set("*?:"):
                raise Error(f"gpu contexts={part!r}: must be one of {', '.join(_KINDS)}, or a glob such as *:[Block]:*")

    def parts(self) -> list[str]:
        return [part.strip() for part in re.split(r"[,+]", self.contexts)]

    @property
    def text(self) -> str:
        """Return the text form, as accepted by :func:`gpu_of`."""
        return ("require:" if self.require else "") + "+".join(self.parts())

    def check(self) -> None:
        """Raise Error if a GPU is required but not available. CUDA is only called through PyTorch."""
        if not self.require:
            return
        try:
            _core.gpu_runtime()
        except Error as error:
            problem = no_timers(other_device()) or f"{error} in this process"
            todo = "import a PyTorch built for CUDA or ROCm first, or use gpu='auto'"
            raise Error(f"gpu='require': {problem}: {todo}") from None
        cuda = getattr(sys.modules.get("torch"), "cuda", None)
        if cuda is None or not cuda.is_available():
            raise Error("gpu='require': PyTorch has no GPU to use (torch.cuda.is_available() is false): use gpu='auto'")

    def attach(self, session: Session, always: bool) -> None:
        """Configure a session before its start; ``always``: intervals in every recorded step."""
        parts = self.parts()
        globs = [part for part in parts if part not in _KINDS]
        wanted = {kind: kind in parts for kind in _KINDS}
        session.sample_gpu(globs, is_in_use, is_profiled, always=always, **wanted)


def gpu_of(value: str | Gpu) -> Gpu | None:
    """Parse the argument of ``CallGraph(gpu=...)``; None for no GPU timing. Text: a mode, contexts, or ``require:``
    before those."""
    if isinstance(value, Gpu):
        return value
    if value in _MODES:
        return None if value == "off" else Gpu(require=value == "require")
    return Gpu(value.removeprefix("require:"), value.startswith("require:"))


def is_in_use() -> bool:
    """Return whether the program has initialised CUDA through PyTorch, without initialising it."""
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    return cuda is not None and bool(cuda.is_initialized())


def is_profiled() -> bool:
    """Return whether torch.profiler uses CUPTI, or is about to: from the creation of a profiler to its end."""
    profiler: Any = sys.modules.get("torch.autograd.profiler")
    tracker = getattr(profiler, "KinetoStepTracker", None)
    return bool(getattr(profiler, "_is_profiler_enabled", False)) or "ProfilerStep" in getattr(
        tracker, "_step_dict", ()
    )


def why_missing() -> str:
    """Return why the devices that the program uses have no timers, a sentence; empty if they have some, or if the
    program uses only the CPU. Initialises no device."""
    if not is_in_use():
        return no_timers(other_device(in_use=True))
    try:
        _core.gpu_runtime()
    except Error as error:
        return f"{error}: no GPU times"
    if not _core.finds_gpu_stream():
        return "PyTorch has no known function for its current stream: no GPU times"
    return ""


def other_device(*, in_use: bool = False) -> str:
    """Return the type of PyTorch's accelerator, such as ``xpu``; empty without one, and for CUDA and HIP, whose type is
    ``cuda``. ``in_use``: only if the program has initialised it."""
    torch = sys.modules.get("torch")
    accelerator = getattr(torch, "accelerator", None)  # since PyTorch 2.6
    try:
        device = None if accelerator is None else accelerator.current_accelerator(check_available=not in_use)
    except Exception:  # an accelerator without its driver
        return ""
    if device is None or device.type == "cuda":
        return ""
    module = getattr(torch, device.type, None)
    return device.type if not in_use or _is_initialised(module) else ""


def _is_initialised(module: Any) -> bool:
    """Whether the device of a module like ``torch.xpu`` was used; whether it exists, if the module does not know."""
    known = getattr(module, "is_initialized", None) or getattr(module, "is_available", None)
    return known is not None and bool(known())


def no_timers(device: str) -> str:
    """Return the sentence about a device of this type; empty for no device."""
    return f"CPU only: no timers for devices of type {device}" if device else ""
