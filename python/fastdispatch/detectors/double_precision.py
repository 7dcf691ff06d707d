"""``double-precision``: a model computes in float64."""

from __future__ import annotations

from collections.abc import Iterator

from fastdispatch.detectors import limits
from fastdispatch.detectors.measured_steps import MeasuredSteps
from fastdispatch.detectors.model import Finding
from fastdispatch.text.formats import grouped, percent, seconds

ID = "double-precision"

ADVICE = (
    "create model and input in float32: without double(), dtype=torch.float64, or"
    " torch.set_default_dtype(torch.float64); NumPy arrays are float64 unless converted"
)

#: Bytes of an element of float64. Those of complex64 are as many, but programs with complex numbers call these.
_BYTES = 8
_COMPLEX = {f"aten::{name}" for name in ("complex", "view_as_complex", "view_as_real", "real", "imag", "_conj")}


def find(steps: MeasuredSteps) -> Iterator[Finding]:
    modules = steps.trace.modules
    sizes = list(zip(modules["parameters"], modules["parameter_bytes"], strict=True))
    double = {row for row, (elements, size) in enumerate(sizes) if elements and size == _BYTES * elements}
    if not double or _COMPLEX.intersection(steps.trace.nodes["name"]):
        return
    paths = [path for path in steps.outermost(lambda row: steps.paths["module"][row] in double) if steps.main[path]]
    time = sum(_operators(steps, path) for path in paths)
    if not paths or time < limits.DOUBLE_SHARE * steps.step:
        return
    path = max(paths, key=lambda row: _operators(steps, row))
    elements, size = sizes[steps.paths["module"][path]]
    name = modules["class"][steps.paths["module"][path]]
    yield steps.finding(
        ID,
        f"{name} computes in float64: its {grouped(elements)} parameters have {_BYTES} bytes each",
        steps.where(path),
        time / 2,
        f"its operators take {seconds(time)} or {percent(time / steps.step)} of a step, with backward; float32 has half"
        " of the bytes and at least twice the rate",
        ADVICE,
        evidence={"parameters": elements, "parameter_bytes": size, "ns_per_step": round(time)},
    )


def _operators(steps: MeasuredSteps, path: int) -> float:
    """Return the time per step of the operators below a path, and of its backward."""
    below = sum(steps.own(row) for row in steps.below(path) if steps.kind(row) == "op")
    return below + steps.backward(path)
