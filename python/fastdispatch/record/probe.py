"""Operators of the self-test that determines the layout of PyTorch's records.

``csrc/capture/torch/record_layout.c`` observes :func:`run` and knows the expected records: a multiplication with an
autograd number, one without, a range, and the backward of the first, called directly so that no autograd thread starts.
No random numbers are drawn and no defaults change. The second part does the same for operands.
"""

from collections.abc import Callable

from fastdispatch._core import Session


def run() -> int:
    """Run the operators and return the autograd number of the first one."""
    import torch
    from torch.utils._python_dispatch import _disable_current_modes

    with _disable_current_modes(), torch.inference_mode(False), torch.enable_grad():
        x = torch.ones(2, requires_grad=True)
        number: int = torch._C._autograd._get_sequence_nr()
        y = x * 2.0
        with torch.no_grad():
            x * 2.0
        # Not torch.profiler's class: its first use imports modules, which only the program should do.
        mark = torch.ops.profiler._record_function_enter_new("fastdispatch.probe", None)
        torch.ops.profiler._record_function_exit._RecordFunction(mark)
        y.grad_fn(torch.ones(2))
    return number


def attach_operands(session: Session, on_model: Callable[[object], None] | None) -> None:
    """Run the operators from which ``capture/operands/operands.c`` learns the addresses of tensors and boxed values.

    Each module that no other module calls is passed to ``on_model`` at its first call; ``None``: operands are only
    measured. Raises :class:`fastdispatch.Error` if the addresses are not found.
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


def attach_memory(session: Session) -> None:
    """Measure memory. Raises :class:`fastdispatch.Error` if PyTorch does not report the block of the self-test."""
    import torch
    from torch.utils._python_dispatch import _disable_current_modes

    def run() -> None:
        with _disable_current_modes(), torch.inference_mode(False):
            torch.empty(4099, dtype=torch.uint8, device="cpu")

    session.attach_memory(run)
