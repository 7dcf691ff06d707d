"""Reports of PyTorch that ``Optimizer.step`` ends. With them, calls around an optimizer need no evaluator hook
(docs/decisions/README.md, 15)."""

import sys
from typing import Protocol

from fastdispatch import _core


class _Handle(Protocol):
    def remove(self) -> None: ...


_handle: _Handle | None = None


def begin_reports() -> None:
    """Add a function to those that PyTorch calls at the end of ``Optimizer.step``, unless it is one of them or this
    version of PyTorch has none. ``torch.compile`` leaves nothing of it in the code of an optimizer. Later versions of
    Python need no hook in the first place."""
    global _handle
    if _handle is not None or sys.version_info >= (3, 12):
        return
    try:
        is_compiling = sys.modules["torch"].compiler.is_compiling
        register = sys.modules["torch.optim.optimizer"].register_optimizer_step_post_hook
    except (KeyError, AttributeError):
        return

    def report(optimizer: object, args: object, kwargs: object) -> None:
        if not is_compiling():
            _core.optimizer_reported()

    _handle = register(report)


def end_reports() -> None:
    """Remove it."""
    global _handle
    if _handle is not None:
        _handle.remove()
        _handle = None
