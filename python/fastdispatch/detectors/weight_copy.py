"""Copies of all weights in every step: saved, loaded, or copied models. A part of ``device-copy``."""

from __future__ import annotations

from collections.abc import Iterator

from fastdispatch.detectors import limits
from fastdispatch.detectors.measured_steps import BACKWARD, DATA, FORWARD, OPTIMIZER, MeasuredSteps, counted, steps_of
from fastdispatch.detectors.model import Finding
from fastdispatch.text.formats import percent, seconds

_SAVES = "saves tensors"
_TRAINS = (FORWARD, BACKWARD, OPTIMIZER)
_DEEPCOPY = "copy.py:[]:deepcopy"

#: Functions that copy a tensor as a part of an object.
_OF_TENSOR = ("torch/nn/parameter.py:[Parameter]:__deepcopy__", "torch/_tensor.py:[Tensor]:__deepcopy__")

ADVICE = (
    "do it every N steps or once per epoch; clone() only tensors that change; update a second model in place with"
    " torch._foreach_lerp_ or torch._foreach_copy_"
)


def weight_copies(steps: MeasuredSteps, id: str) -> Iterator[Finding]:
    """Yield findings of functions of the program that copy whole models in every step."""
    found: dict[tuple[int, str], list[int]] = {}
    for path in steps.outermost(lambda row: _verb(steps, row) != ""):
        if steps.user(path) >= 0 and path not in steps.claimed and _is_reported(steps, path):
            found.setdefault((steps.user(path), _verb(steps, path)), []).append(path)
    for (user, verb), paths in found.items():
        time = steps.unclaimed(paths)
        count = sum(map(steps.calls, paths))
        steps.claim(paths)
        yield steps.finding(
            id,
            f"{steps.name(user)} {verb} in every step",
            steps.where(paths[0], steps.name(paths[0])),
            time,
            f"{counted(count, 'call')} of {steps.name(paths[0])} per step, {seconds(time)} or"
            f" {percent(time / steps.step)} of a step; a copy to the CPU also waits for all queued work of a GPU",
            ADVICE,
            evidence={
                "operators": [steps.key(paths[0])],
                "calls_per_step": round(count, 2),
                "ns_per_step": round(time),
            },
        )


def rare_saves(steps: MeasuredSteps, id: str) -> Iterator[Finding]:
    """Yield findings of functions that save tensors in some steps, with all that they do for it: others wait."""
    saves = [path for path in steps.outermost(lambda row: _verb(steps, row) == _SAVES) if path not in steps.claimed]
    savers: dict[int, int] = {_saver(steps, path): path for path in saves}
    for saver, path in savers.items():
        count = steps.paths["steps"][path]
        time = max(_per_step(steps, saver))
        if count < limits.SAVES or time < limits.SAVES_SHARE * steps.step:
            continue
        steps.claim([saver])
        yield steps.finding(
            id,
            f"{steps.name(saver)} saves tensors in {count} of {steps.longest} steps",
            steps.where(path, steps.name(path)),
            time,
            f"{seconds(time)} of a mean step of {seconds(steps.step)}, with all that the function does:"
            f" {seconds(time * steps.longest / count)} each",
            "save less often, or in the background: torch.distributed.checkpoint.async_save",
            steps=count,
            evidence={"ns_per_step": round(time), "steps": count},
        )


def _saver(steps: MeasuredSteps, path: int) -> int:
    """Return the outermost function around a path that does nothing of the training."""
    found = path
    for row in (path, *steps.above(path)):
        if any(steps.phase(each) in _TRAINS for each in steps.below(row)) or row in steps.passes:
            break
        found = row if steps.is_python(row) else found
    return found


def _per_step(steps: MeasuredSteps, path: int) -> Iterator[float]:
    """Yield the time of a path per step of each rank."""
    for index, rank in enumerate(steps.trace.ranks):
        if steps_of(rank):
            yield steps.trace.core.contexts(index, rank["window"] is None)["total"][path] / steps_of(rank)


def _verb(steps: MeasuredSteps, path: int) -> str:
    """Return how a path copies weights, "" for other paths."""
    if not steps.main[path] or not steps.is_python(path) or steps.phase(path) in (BACKWARD, DATA):
        return ""
    if steps.key(path) == "torch/serialization.py:[]:save":
        return _SAVES
    if steps.name(path) == "load_state_dict" and steps.is_torch(path):
        return "loads weights"
    if steps.key(path) == _DEEPCOPY and any(steps.key(row) in _OF_TENSOR for row in steps.below(path)):
        whole = any(steps.key(row) == _OF_TENSOR[0] for row in steps.below(path))
        return "copies a model or its weights" if whole else "copies tensors with deepcopy"
    return ""


def _is_reported(steps: MeasuredSteps, path: int) -> bool:
    return steps.every(path) or (steps.activity(path) >= 0.5 and steps.total(path) >= limits.COPY_SHARE * steps.step)
