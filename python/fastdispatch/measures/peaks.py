"""Peak rates of devices, FLOP/s: given, known (docs/concepts/measures.md) or measured."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from fastdispatch._core import Error

#: Dense rates of GPUs by a part of their name, in TFLOP/s. The first match counts. Sources: docs/concepts/measures.md.
_KNOWN: tuple[tuple[str, dict[str, float]], ...] = (
    ("H200 NVL", {"fp32": 60, "tf32": 417.5, "bf16": 835.5, "fp16": 835.5, "fp8": 1670.5}),
    ("H200", {"fp32": 67, "tf32": 494.5, "bf16": 989.5, "fp16": 989.5, "fp8": 1979}),
    ("H100 NVL", {"fp32": 60, "tf32": 417.5, "bf16": 835.5, "fp16": 835.5, "fp8": 1670.5}),
    ("H100 PCIe", {"fp32": 51, "tf32": 378, "bf16": 756.5, "fp16": 756.5, "fp8": 1513}),
    ("H100 HBM3", {"fp32": 67, "tf32": 494.5, "bf16": 989.5, "fp16": 989.5, "fp8": 1979}),
    ("A100", {"fp32": 19.5, "tf32": 156, "bf16": 312, "fp16": 312}),
    ("A10", {"fp32": 31.2, "tf32": 62.5, "bf16": 125, "fp16": 125}),
    ("V100 SXM2", {"fp32": 15.7, "fp16": 125}),
    ("L40S", {"fp32": 91.6, "tf32": 183, "bf16": 362, "fp16": 362, "fp8": 733}),
    ("L4", {"fp32": 30.3, "tf32": 60, "bf16": 121, "fp16": 121, "fp8": 242.5}),
    ("T4", {"fp32": 8.1, "fp16": 65}),
)

DTYPES = ("fp32", "tf32", "bf16", "fp16", "fp8")

_MEASURED = {"fp32": "float32", "bf16": "bfloat16", "fp16": "float16"}

#: Sizes and repetitions of the measured product, per device.
_SIZE, _REPEATS = {"cpu": 1024, "cuda": 8192}, 5


@dataclass
class Peak:
    """FLOP/s of one device, and their origin."""

    rate: float
    source: str


def is_peak(text: str) -> bool:
    """Return whether a text is a rate, a dtype, ``measure`` or ``measure:DTYPE``."""
    if text in (*DTYPES, "measure", *(f"measure:{dtype}" for dtype in _MEASURED)):
        return True
    try:
        rate = float(text)
    except ValueError:
        return False
    return math.isfinite(rate) and rate > 0


def peak_of(text: str, gpus: Sequence[str]) -> Peak:
    """Return the peak of a checked ``--peak``; ``gpus``: names of the GPUs of the ranks. Raises Error."""
    if text in DTYPES:
        return _known(text, gpus)
    if text.startswith("measure"):
        return _measured(text.partition(":")[2] or "fp32")
    return Peak(float(text), "given")


def _known(dtype: str, gpus: Sequence[str]) -> Peak:
    names = sorted(set(gpus))
    if len(names) != 1:
        what = f"GPUs of several kinds ({', '.join(names)})" if names else "no GPU name"
        raise Error(f"--peak {dtype}: the recording has {what}: give FLOP/s, e.g. --peak 312e12")
    rates = next((rates for part, rates in _KNOWN if _is_part(part, names[0])), {})
    if dtype not in rates:
        raise Error(f"--peak {dtype}: the peak of {names[0]} is unknown: give FLOP/s, e.g. --peak 312e12")
    return Peak(rates[dtype] * 1e12, f"{dtype} of {names[0]}")


def _is_part(part: str, name: str) -> bool:
    """Return whether all words of ``part`` are words of the name: ``A10`` is not in ``NVIDIA A100-SXM4-80GB``."""
    words = name.replace("-", " ").split()
    return all(word in words for word in part.split())


def _measured(dtype: str) -> Peak:
    try:
        import torch
    except ModuleNotFoundError:
        raise Error("--peak measure requires PyTorch: install torch, or give FLOP/s, e.g. --peak 312e12") from None
    device = "cuda" if torch.cuda.is_available() else "cpu"
    size = _SIZE[device]
    a = torch.ones(size, size, dtype=getattr(torch, _MEASURED[dtype]), device=device)
    wait: Callable[[], Any] = torch.cuda.synchronize if device == "cuda" else lambda: None
    a @ a
    times = []
    for _ in range(_REPEATS):
        wait()
        began = perf_counter()
        a @ a
        wait()
        times.append(perf_counter() - began)
    of = torch.cuda.get_device_name() if device == "cuda" else f"{torch.get_num_threads()} threads of this CPU"
    return Peak(2 * size**3 / min(times), f"measured here: {dtype} product of {size} x {size} on {of}")
