"""The dispatch back end: a C object on PyTorch's stack of dispatch modes."""

from __future__ import annotations

import sys
from types import TracebackType

from fastdispatch import _core


def limits() -> str:
    """What a dispatch mode changes with this version of PyTorch; empty: nothing.

    The compiler removes all modes while it compiles, and a guard of the compiled code fails as soon as one is active.
    Later versions ask a mode, with ``ignore_compile_internals``, whether compiled code may ignore it.
    """
    from torch.utils._python_dispatch import TorchDispatchMode

    if hasattr(TorchDispatchMode, "ignore_compile_internals"):
        return ""
    return "this PyTorch recompiles modules of torch.compile at each call in this mode, until Dynamo's limit"


class DispatchMode(_core.DispatchMode):
    """Record every operator below autograd on this thread and on the autograd threads it starts.

    Inside a :class:`fastdispatch.CallGraph` with ``ops="dispatch"`` it is pushed automatically. On its own it counts:

        with fastdispatch.DispatchMode() as mode:
            model(x)
        print(mode.calls)  # {"aten::addmm": 12, ...}

    ``calls`` counts since the mode was made. Unlike a mode written in Python it leaves ``torch.compile``d code as it
    is, except with old versions of PyTorch (docs/reference/support.md). Raises ``ImportError`` without PyTorch.
    """

    def __enter__(self) -> DispatchMode:
        self.push()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.remove()

    def push(self) -> None:
        """Put the mode on top of this thread's stack."""
        sys.modules["torch"]._C._push_on_torch_dispatch_stack(self)

    def remove(self) -> None:
        """Remove the mode from the stack, at any depth; modes pushed after it stay."""
        torch_c = sys.modules["torch"]._C
        above = []
        for _ in range(torch_c._len_torch_dispatch_stack()):
            mode = torch_c._pop_torch_dispatch_stack(None)
            if mode is self:
                break
            above.append(mode)
        for mode in reversed(above):
            torch_c._push_on_torch_dispatch_stack(mode)
