"""``recompute``: checkpointing runs forward again during backward, or backward runs again for each loss."""

from __future__ import annotations

from collections.abc import Iterator

from fastdispatch.detectors import limits
from fastdispatch.detectors.measured_steps import BACKWARD, FORWARD, MeasuredSteps, counted, number
from fastdispatch.detectors.model import Finding
from fastdispatch.measures.call_sites import CHECKPOINTS, RECOMPUTE
from fastdispatch.text.formats import percent, seconds

ID = "recompute"

ADVICE = "checkpoint only the layers whose activations do not fit into memory, or use a smaller micro-batch instead"


ADVICE_LOSSES = "add the losses and call backward() once: shared layers then run backward once"

_LOSSES = "torch/nn/modules/loss.py:"


def is_recomputed(steps: MeasuredSteps, path: int) -> bool:
    """Return whether a path is forward that runs again during backward."""
    return steps.phase(path) == BACKWARD and (steps.key(path) == RECOMPUTE or steps.paths["module"][path] >= 0)


def find(steps: MeasuredSteps) -> Iterator[Finding]:
    yield from _checkpoints(steps)
    yield from _losses(steps)


def _checkpoints(steps: MeasuredSteps) -> Iterator[Finding]:
    paths = list(steps.outermost(lambda path: steps.activity(path) >= 0.5 and is_recomputed(steps, path)))
    time = steps.unclaimed(paths)
    if not paths or time < limits.RECOMPUTE_SHARE * steps.step:
        return
    callers = [path for path in steps.named(*CHECKPOINTS) if steps.phase(path) != BACKWARD]
    heaviest = max(callers or paths, key=steps.total)
    calls = sum(map(steps.calls, callers or paths))
    steps.claim(paths)
    yield steps.finding(
        ID,
        f"forward runs again during backward: {counted(calls, 'checkpoint')} per step",
        steps.where(heaviest, "checkpoint", "checkpoint_sequential"),
        time,
        f"{seconds(time)} or {percent(time / steps.step)} of a step is recomputation, the price of less memory",
        ADVICE,
        evidence={"checkpoints_per_step": round(calls, 2), "ns_per_step": round(time)},
    )


def _losses(steps: MeasuredSteps) -> Iterator[Finding]:
    """Report several backward passes of the program through one forward pass: ``backward(retain_graph=True)``."""
    backward = [path for path in steps.passes if steps.is_user(steps.paths["parent"][path])]
    passes = sum(map(steps.calls, backward))
    forward = sum(map(steps.calls, steps.outermost(lambda path: _is_trained(steps, path))))
    if not 0.95 <= forward <= passes - 0.95 or not all(map(steps.every, backward)):
        return
    time = steps.unclaimed(backward) * (1 - forward / passes)
    if time < limits.RECOMPUTE_SHARE * steps.step:
        return
    heaviest = max(backward, key=steps.total)
    yield steps.finding(
        ID,
        f"{steps.name(steps.user(heaviest))} runs backward {number(passes)} times after"
        f" {counted(forward, 'forward pass')}",
        steps.where(heaviest, "backward"),
        time,
        f"{number(passes)} backward passes per step through the same layers (retain_graph=True): up to {seconds(time)}"
        f" or {percent(time / steps.step)} of a step again",
        ADVICE_LOSSES,
        evidence={
            "backward_per_step": round(passes, 2),
            "forward_per_step": round(forward, 2),
            "ns_per_step": round(time),
        },
    )


def _is_trained(steps: MeasuredSteps, path: int) -> bool:
    """Return whether a path is a forward pass of a module that is trained, not of a loss."""
    return (
        steps.paths["module"][path] >= 0
        and steps.phase(path) == FORWARD
        and not steps.key(path).startswith(_LOSSES)
        and any(steps.paths["backward"][row] for row in (path, *steps.below(path)))
    )
