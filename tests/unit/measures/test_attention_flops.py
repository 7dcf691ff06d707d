"""FLOPs of attention kernels of GPUs, on the meta device: 2 * batch * heads * queries * keys * (4 + 6), also with a
causal mask; backward, 3 * 4 + 2 * 6. With lengths of sequences or windows they are unknown."""

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import fastdispatch
from fastdispatch.measures.flops import OperatorCalls

torch = pytest.importorskip("torch")
aten = torch.ops.aten
meta = torch.device("meta")

BATCH, HEADS, QUERIES, KEYS = 2, 3, 16, 32
FORWARD = 2 * BATCH * HEADS * QUERIES * KEYS * (4 + 6)
BACKWARD = 2 * BATCH * HEADS * QUERIES * KEYS * (3 * 4 + 2 * 6)


def tensors(layout: str) -> tuple[Any, Any, Any, Any, Any]:
    """Gradient of the output, query, key, value, output: heads before the sequence, or after it."""
    sizes = [(QUERIES, 6), (QUERIES, 4), (KEYS, 4), (KEYS, 6), (QUERIES, 6)]
    made = [torch.empty(BATCH, HEADS, *size, device=meta, dtype=torch.half) for size in sizes]
    a, b, c, d, e = made if layout == "heads" else [each.transpose(1, 2) for each in made]
    return a, b, c, d, e


def numbers(*sizes: int) -> Any:
    return torch.empty(sizes, device=meta, dtype=torch.int32)


LOGSUMEXP = torch.empty(BATCH, HEADS, QUERIES, device=meta)


def flash(causal: bool) -> object:
    _, q, k, _, _ = tensors("heads")
    return aten._scaled_dot_product_flash_attention(q, k, k, 0.0, causal)


def efficient(causal: bool) -> object:
    _, q, k, v, _ = tensors("heads")
    return aten._scaled_dot_product_efficient_attention(q, k, v, None, True, 0.0, causal)


def cudnn(causal: bool) -> object:
    _, q, k, v, _ = tensors("heads")
    return aten._scaled_dot_product_cudnn_attention(q, k, v, None, True, 0.0, causal)


def flash_backward(causal: bool) -> object:
    grad, q, k, v, out = tensors("heads")
    empty = numbers(0)
    return aten._scaled_dot_product_flash_attention_backward(
        grad, q, k, v, out, LOGSUMEXP, empty, empty, QUERIES, KEYS, 0.0, causal, empty, empty
    )


def efficient_backward(causal: bool) -> object:
    grad, q, k, v, out = tensors("heads")
    bias = torch.empty(0, device=meta)
    return aten._scaled_dot_product_efficient_attention_backward(
        grad, q, k, v, bias, out, LOGSUMEXP, numbers(), numbers(), 0.0, [True, True, True, False], causal
    )


def cudnn_backward(causal: bool) -> object:
    grad, q, k, v, out = tensors("heads")
    empty = numbers(0)
    return aten._scaled_dot_product_cudnn_attention_backward(
        grad, q, k, v, out, LOGSUMEXP, empty, empty, empty, empty, empty, QUERIES, KEYS, 0.0, causal
    )


def flash_kernel(causal: bool, lengths: Any = None, **options: int) -> object:
    _, q, k, _, _ = tensors("sequence")
    return aten._flash_attention_forward(q, k, k, lengths, lengths, QUERIES, KEYS, 0.0, causal, False, **options)


def flash_kernel_backward(causal: bool, lengths: Any = None, **options: int) -> object:
    grad, q, k, v, out = tensors("sequence")
    none = numbers(0) if lengths is None else lengths
    return aten._flash_attention_backward(
        grad, q, k, v, out, LOGSUMEXP, none, none, QUERIES, KEYS, 0.0, causal, numbers(2), numbers(), **options
    )


def efficient_kernel(causal: bool, lengths: Any = None, **options: int) -> object:
    _, q, k, v, _ = tensors("sequence")
    longest = None if lengths is None else QUERIES
    return aten._efficient_attention_forward(
        q, k, v, None, lengths, lengths, longest, longest, 0.0, int(causal), **options
    )


def efficient_kernel_backward(causal: bool, lengths: Any = None, **options: int) -> object:
    grad, q, k, v, out = tensors("sequence")
    given = (grad, q, k, v, None, out, lengths, lengths, QUERIES, KEYS, LOGSUMEXP)
    return aten._efficient_attention_backward(*given, 0.0, numbers(), numbers(), int(causal), False, **options)


FORWARDS: list[Callable[..., object]] = [efficient, cudnn, efficient_kernel]
KERNEL_BACKWARDS: list[Callable[..., object]] = [flash_kernel_backward, efficient_kernel_backward]
BACKWARDS = [flash_backward, efficient_backward, cudnn_backward, *KERNEL_BACKWARDS]
KERNELS = [flash_kernel, efficient_kernel, *KERNEL_BACKWARDS]


def figures(work: Callable[[], object], folder: Path) -> dict[str, tuple[int, int]]:
    """Count and FLOPs by kind."""
    with fastdispatch.CallGraph(folder, measure="flops"):
        work()
    trace = fastdispatch.load(folder)
    found: dict[str, tuple[int, int]] = {}
    for each in OperatorCalls(trace).of(trace.ranks[0]):
        if each.kind in ("flops", "unknown"):
            calls, flops = found.get(each.kind, (0, 0))
            found[each.kind] = calls + each.calls, flops + each.flops
    return found


@pytest.mark.parametrize("causal", [False, True], ids=["full", "causal"])
@pytest.mark.parametrize(
    ("work", "expected"),
    [
        *((forward, FORWARD) for forward in FORWARDS),
        *((forward, FORWARD * 8 // 10) for forward in (flash, flash_kernel)),  # equal widths
        *((backward, BACKWARD) for backward in BACKWARDS),
    ],
)
def test_each(work: Callable[[bool], object], expected: int, causal: bool, tmp_path: Path) -> None:
    """PyTorch's counter agrees where it knows the operator."""
    from torch.utils.flop_counter import FlopCounterMode

    assert figures(lambda: work(causal), tmp_path) == {"flops": (1, expected)}
    if work not in KERNELS:
        with FlopCounterMode(display=False) as counter:
            work(causal)
        assert counter.get_total_flops() == expected


@pytest.mark.parametrize("kernel", KERNELS)
def test_lengths_of_sequences_are_unknown(kernel: Callable[..., object], tmp_path: Path) -> None:
    assert figures(lambda: kernel(False, numbers(3)), tmp_path) == {"unknown": (1, 0)}


@pytest.mark.parametrize("kernel", KERNELS)
def test_windows_are_unknown(kernel: Callable[..., object], tmp_path: Path) -> None:
    windows = {"window_size_left": 8} if kernel in (flash_kernel, flash_kernel_backward) else {"window_size": 8}

    def work() -> None:
        with contextlib.suppress(TypeError):  # a kernel of the meta device has no windows, but is counted before
            kernel(False, None, **windows)

    assert figures(work, tmp_path) == {"unknown": (1, 0)}


@pytest.mark.parametrize(("right", "expected"), [(0, {"unknown": (1, 0)}), (-1, {"flops": (1, FORWARD * 8 // 10)})])
def test_only_negative_windows_have_no_limit(right: int, expected: dict[str, tuple[int, int]], tmp_path: Path) -> None:
    windows = {"window_size_left": -1, "window_size_right": right}
    assert figures(lambda: flash_kernel(False, None, **windows), tmp_path) == expected


def test_scaled_products(tmp_path: Path) -> None:
    """[16, 32] times [32, 64], and the same in two groups of rows."""
    left, right = (torch.empty(rows, 32, device=meta, dtype=torch.float8_e4m3fn) for rows in (16, 64))
    groups = torch.empty(2, 64, 32, device=meta, dtype=torch.float8_e4m3fn).transpose(1, 2)
    one, rows, columns = (torch.empty(size, device=meta) for size in ((), (16,), (2, 64)))
    ends = numbers(2)

    def work() -> None:
        aten._scaled_mm_v2(left, right.t(), [one], [0], [], [one], [0], [], None, torch.bfloat16)
        with contextlib.suppress(NotImplementedError):  # it has no kernel for the meta device, but is counted before
            aten._scaled_grouped_mm_v2(left, groups, [rows], [1], [], [columns], [1], [], ends, None, torch.bfloat16)

    assert figures(work, tmp_path) == {"flops": (2, 2 * (2 * 16 * 32 * 64))}
