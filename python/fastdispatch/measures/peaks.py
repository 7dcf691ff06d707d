"""Peak rates of devices, FLOP/s: given, known (docs/concepts/measures.md) or measured."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Annotated, Any

from fastdispatch._core import Error
from fastdispatch.text.formats import Figure

#: Dense rates of GPUs by a part of their name, in TFLOP/s. The first match counts. Sources: docs/concepts/measures.md.
_KNOWN: tuple[tuple[str, dict[str, float]], ...] = (
    ("B200", {"fp32": 75, "tf32": 1100, "bf16": 2250, "fp16": 2250, "fp8": 4500}),
    ("H200 NVL", {"fp32": 60, "tf32": 417.5, "bf16": 835.5, "fp16": 835.5, "fp8": 1670.5}),
    ("H200", {"fp32": 67, "tf32": 494.5, "bf16": 989.5, "fp16": 989.5, "fp8": 1979}),
    ("H100 NVL", {"fp32": 60, "tf32": 417.5, "bf16": 835.5, "fp16": 835.5, "fp8": 1670.5}),
    ("H100 PCIe", {"fp32": 51, "tf32": 378, "bf16": 756.5, "fp16": 756.5, "fp8": 1513}),
    ("H100 HBM3", {"fp32": 67, "tf32": 494.5, "bf16": 989.5, "fp16": 989.5, "fp8": 1979}),
    ("A100", {"fp32": 19.5, "tf32": 156, "bf16": 312, "fp16": 312}),
    ("A30", {"fp32": 10.3, "tf32": 82, "bf16": 165, "fp16": 165}),
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

    rate: Annotated[Figure, "FLOP/s"]
    source: str


@dataclass
class Peaks:
    """FLOP/s of one device by precision of the operands, or one rate for all of them, and their origin."""

    source: str
    rates: Mapping[str, float] = field(default_factory=dict)
    one: float | None = None

    def rate(self, precision: str) -> float | None:
        """Return the rate of a precision (``Precisions.of``); None if it is unknown, or one of several."""
        if self.one is None and precision == "float32" and "tf32" not in self.rates:
            precision = "fp32"  # a device without TF32
        return self.rates.get(precision) if self.one is None else self.one

    def time(self, flops: Mapping[str, float]) -> float:
        """Return the seconds that FLOPs take at the peak, without those whose rate is unknown."""
        return sum(count / rate for precision, count in flops.items() if (rate := self.rate(precision)))

    def undecided(self, flops: Mapping[str, float]) -> dict[str, float]:
        """Return the FLOPs whose rate is unknown."""
        return {precision: count for precision, count in flops.items() if count and not self.rate(precision)}

    def mean(self, flops: Mapping[str, float]) -> Peak | None:
        """Return the rate of these FLOPs together at the peak; None without any whose rate is known."""
        known = {precision: count for precision, count in flops.items() if count and self.rate(precision)}
        if self.one is not None:
            return Peak(self.one, self.source)
        if not known:
            return None
        of = " and ".join(sorted(known, key=lambda precision: -known[precision]))
        return Peak(sum(known.values()) / self.time(known), f"{of} of {self.source}")


def is_peak(text: str) -> bool:
    """Return whether a text is a rate, a dtype, ``measure`` or ``measure:DTYPE``."""
    if text in (*DTYPES, "measure", *(f"measure:{dtype}" for dtype in _MEASURED)):
        return True
    try:
        rate = float(text)
    except ValueError:
        return False
    return math.isfinite(rate) and rate > 0


def peaks_of(text: str | None, gpus: Sequence[str]) -> Peaks | None:
    """Return the peaks of a checked ``--peak``; without one, those of the GPU, or None if they are unknown. ``gpus``:
    names of the GPUs of the ranks. Raises Error."""
    if text is None:
        names = set(gpus)
        return Peaks(name, rates) if len(names) == 1 and (rates := _rates(name := names.pop())) else None
    if text in DTYPES:
        return _known(text, gpus)
    if text.startswith("measure"):
        return _measured(text.partition(":")[2] or "fp32")
    return Peaks("given", one=float(text))


def _rates(name: str) -> dict[str, float]:
    """Return the rates of a GPU in FLOP/s; empty: unknown, also for a part of a GPU."""
    found = {} if "MIG" in name.split() else next((rates for part, rates in _KNOWN if _is_part(part, name)), {})
    return {dtype: rate * 1e12 for dtype, rate in found.items()}


def _known(dtype: str, gpus: Sequence[str]) -> Peaks:
    names = sorted(set(gpus))
    if len(names) != 1:
        what = f"GPUs of several kinds ({', '.join(names)})" if names else "no GPU name"
        raise Error(f"--peak {dtype}: the recording has {what}: give FLOP/s, e.g. --peak 312e12")
    rates = _rates(names[0])
    if dtype not in rates:
        raise Error(f"--peak {dtype}: the peak of {names[0]} is unknown: give FLOP/s, e.g. --peak 312e12")
    return Peaks(f"{dtype} of {names[0]}", one=rates[dtype])


def _is_part(part: str, name: str) -> bool:
    """Return whether all words of ``part`` are words of the name: ``A10`` is not in ``NVIDIA A100-SXM4-80GB``."""
    words = name.replace("-", " ").split()
    return all(word in words for word in part.split())


def _measured(dtype: str) -> Peaks:
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
    return Peaks(f"measured here: {dtype} product of {size} x {size} on {of}", one=2 * size**3 / min(times))
