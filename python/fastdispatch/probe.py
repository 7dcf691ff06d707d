"""The operators of the self-test that decides how to read PyTorch's records.

``csrc/capture/operators/tensor_layout.c`` listens while :func:`run` runs and knows what it must
see: a multiplication that is numbered for autograd, one that is not, a range,
and the backward of the first, called directly so that no autograd thread is
started. Nothing random is drawn and no default is touched. The second part is the same for what goes into operators.
"""

from __future__ import annotations

from collections.abc import Callable

from fastdispatch._core import Session


def run() -> int:
    """Run the operators; answer the autograd number the first one got."""
    import torch
    from torch.utils._python_dispatch import _disable_current_modes

    with _disable_current_modes(), torch.inference_mode(False), torch.enable_grad():
        x = torch.ones(2, requires_grad=True)
        number: int = torch._C._autograd._get_sequence_nr()
        y = x * 2.0
        with torch.no_grad():
            x * 2.0
        # Not torch.profiler's class: its first use imports modules, and that is the program's to do.
        mark = torch.ops.profiler._record_function_enter_new("fastdispatch.probe", None)
        torch.ops.profiler._record_function_exit._RecordFunction(mark)
        y.grad_fn(torch.ones(2))
    return number


def attach_operands(session: Session, on_model: Callable[[object], None]) -> None:
    """Run the operators from which ``capture/operands/operands.c`` learns where tensors and values lie. ``on_model``
    is called with each module that no other calls, when it is first called.

    Raises :class:`fastdispatch.Error` where it does not find them.
    """
    import torch
    from torch.utils._python_dispatch import _disable_current_modes

    def run() -> None:
        with _disable_current_modes(), torch.inference_mode(False), torch.no_grad():
            view = torch.as_strided(tensor, (3, 1, 2), (20, 1, 5), 7)
            torch.div(view, view, rounding_mode="floor")
            torch.sum(view, [0], True)
            view.fill_(0.5)
            torch.empty([2], device="cpu")

    with _disable_current_modes(), torch.inference_mode(False), torch.no_grad():
        tensor = torch.ones(64, dtype=torch.float64, device="cpu")
        places = tensor._cdata, tensor.untyped_storage()._cdata, tensor.data_ptr()
        session.attach_operands(tensor, places, run, on_model)
