"""Checks of anomaly detection: each backward function looks for NaN in its results. A part of ``host-sync``."""

from __future__ import annotations

from collections.abc import Iterator

from fastdispatch.detectors.measured_steps import MeasuredSteps, number
from fastdispatch.detectors.model import Finding
from fastdispatch.text.formats import percent, seconds

_CHECKS = {"aten::isnan", "aten::_is_any_true", "aten::item", "aten::is_nonzero"}
_STACKS = "torch/fx/traceback.py:[]:format_stack"

ADVICE = "use torch.autograd.detect_anomaly() to look for the cause of a NaN only, and switch it off for training"


def anomaly_checks(steps: MeasuredSteps, id: str) -> Iterator[Finding]:
    """Yield the finding that anomaly detection is on in every step."""
    checked = {
        steps.paths["parent"][path]
        for path in steps.named("aten::_is_any_true")
        if steps.every(path) and steps.kind(steps.paths["parent"][path]) == "autograd"
    }
    if not checked:
        return
    checks = [row for path in checked for row in steps.children[path] if steps.key(row) in _CHECKS]
    reads = sum(steps.calls(row) for row in checks if steps.key(row) == "aten::_is_any_true")
    slow = [*checks, *steps.named(_STACKS)]
    time = steps.unclaimed(slow)
    steps.claim(slow)
    backward = next(iter(steps.named("torch/_tensor.py:[Tensor]:backward")), min(checked))
    found = steps.finding(
        id,
        "anomaly detection is on: backward checks every gradient for NaN",
        steps.where(backward, "set_detect_anomaly", "detect_anomaly", "backward"),
        time,
        f"{number(reads)} checks per step, each of which reads a value, and the stack of every operator in forward:"
        f" {seconds(time)} or {percent(time / steps.step)} of a step"
        + ("; each check waits for all queued work of a GPU" if steps.uses_gpu else ""),
        ADVICE,
        evidence={
            "operators": sorted({steps.key(row) for row in checks}),
            "calls_per_step": round(reads, 2),
            "ns_per_step": round(time),
            "phase": "backward",
        },
    )
    if found.severity == "info":
        found.severity = "warning"
    yield found
