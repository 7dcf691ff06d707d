"""Work that every step repeats: forward passes again during backward, evaluations, constructions."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from fastdispatch.detectors import limits
from fastdispatch.detectors.input_wait import starts_of_every_step
from fastdispatch.detectors.measured_steps import BACKWARD, DATA, FORWARD, OPTIMIZER, MeasuredSteps, counted, number
from fastdispatch.detectors.model import Finding
from fastdispatch.measures.call_sites import CHECKPOINTS, RECOMPUTE
from fastdispatch.text.formats import percent, seconds

_LOSSES = "torch/nn/modules/loss.py:"


def is_recomputed(steps: MeasuredSteps, path: int) -> bool:
    """Return whether a path is forward that runs again during backward."""
    return steps.phase(path) == BACKWARD and (steps.key(path) == RECOMPUTE or steps.paths["module"][path] >= 0)


def recompute(steps: MeasuredSteps) -> Iterator[Finding]:
    """``recompute``: checkpointing runs forward again during backward, or backward runs again for each loss."""
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
        f"forward runs again during backward: {counted(calls, 'checkpoint')} per step",
        steps.where(heaviest, "checkpoint", "checkpoint_sequential"),
        time,
        f"{steps.of_step(time)} is recomputation, the price of less memory",
        "checkpoint only the layers whose activations do not fit into memory, or use a smaller micro-batch instead",
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
        f"{steps.name(steps.user(heaviest))} runs backward {number(passes)} times after"
        f" {counted(forward, 'forward pass')}",
        steps.where(heaviest, "backward"),
        time,
        f"{number(passes)} backward passes per step through the same layers (retain_graph=True): up to {seconds(time)}"
        f" or {percent(time / steps.step)} of a step again",
        "add the losses and call backward() once: shared layers then run backward once",
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


#: Names of functions that evaluate a model.
_EVALUATES = re.compile(r"(^|_)(eval(uate|uation)?|valid(ate|ation)?|test|benchmark)(_|$)", re.IGNORECASE)

#: Keys of calls that switch a module to evaluation.
EVAL = re.compile(r"torch/nn/modules/module\.py:\[[^]]*\]:eval$")


def evaluation(steps: MeasuredSteps) -> Iterator[Finding]:
    """``evaluation``: the model that is trained is evaluated in every step."""
    modules = steps.paths["module"]
    # Modules whose forward has a backward pass.
    trained = {modules[row] for row, time in enumerate(steps.paths["backward"]) if modules[row] >= 0 and time}
    forward = steps.outermost(lambda row: _is_forward_only(steps, row, trained))
    found = (top for top in (_function(steps, path) for path in forward) if top >= 0)
    for tops in steps.grouped(lambda top: steps.paths["node"][top], found).values():
        paths = sorted(set(tops))
        if _evaluates(steps, paths):
            rows = [row for path in paths for row in _rows(steps, path, trained)]
            time = steps.usual(steps.unclaimed(rows))
            if time >= limits.EVALUATION_SHARE * steps.step:
                yield _evaluated(steps, paths, rows, time)


def _is_forward_only(steps: MeasuredSteps, path: int, trained: set[int]) -> bool:
    """Whether a path is a forward pass without a backward pass, in most steps, of a model that is also trained."""
    modules = steps.paths["module"]
    if modules[path] < 0 or not steps.main[path] or steps.phase(path) != FORWARD or steps.activity(path) < 0.5:
        return False
    rows = (path, *steps.below(path))
    if any(steps.paths["backward"][row] or steps.phase(row) != FORWARD for row in rows):
        return False
    return any(modules[row] in trained for row in rows)


def _function(steps: MeasuredSteps, path: int) -> int:
    """Return the outermost function of the program around a forward pass that trains nothing; else the innermost one;
    -1 without."""
    found = -1
    for row in steps.above(path):
        if steps.is_user(row) and not steps.is_part(row):
            if found >= 0 and _trains(steps, row):
                break
            found = row
    return found


def _trains(steps: MeasuredSteps, path: int) -> bool:
    return any(steps.phase(row) in (BACKWARD, OPTIMIZER) or steps.paths["backward"][row] for row in steps.below(path))


def _evaluates(steps: MeasuredSteps, paths: list[int]) -> bool:
    """Whether functions evaluate: they, or their callers, switch the model to evaluation in most steps, or their names
    state it. A policy that plays, or a second model, does not."""
    for path in paths:
        if _EVALUATES.search(steps.name(path)):
            return True
        around = path if _trains(steps, path) else steps.paths["parent"][path]
        rows = (*steps.below(path), *(steps.children[around] if around >= 0 else ()))
        if any(EVAL.search(steps.key(row)) and steps.activity(row) >= 0.5 for row in rows):
            return True
    return False


def _rows(steps: MeasuredSteps, path: int, trained: set[int]) -> list[int]:
    """Return the rows of an evaluation: all of its function, or the forward passes of one that also trains."""
    if not _trains(steps, path):
        return [path]
    return list(steps.outermost(lambda row: _is_forward_only(steps, row, trained), path + 1, steps.end[path]))


def _evaluated(steps: MeasuredSteps, paths: list[int], rows: list[int], time: float) -> Finding:
    path = max(paths, key=steps.total)
    inline = _trains(steps, path)
    caller = path if inline else steps.user(steps.paths["parent"][path])
    where = steps.where(path) if caller < 0 else steps.where(caller, "eval" if inline else steps.name(path))
    count, share = sum(map(steps.calls, rows)), time / steps.step
    steps.claim(rows)
    what = "evaluates the model" if inline else f"calls {steps.name(path)}, which evaluates the model,"
    return steps.finding(
        f"{steps.name(caller if caller >= 0 else path)} {what} in every step",
        where,
        time,
        f"{counted(count, 'forward pass' if inline else 'call')} per step without a backward pass,"
        f" {seconds(share * steps.typical)} or {percent(share)} of a step",
        "evaluate every N steps or once per epoch, on fewer batches, with larger batches and torch.inference_mode()",
        evidence={"calls_per_step": round(count, 2), "ns_per_step": round(time)},
    )


@dataclass(frozen=True)
class Kind:
    """A kind of objects: its name, what its construction loses besides time, and whether the time alone decides."""

    noun: str
    loss: str = ""
    by_time: bool = False


LOADER_LOSS = "its sampler, and its worker processes if it has any, begin again"

#: Kinds by the constructor of their base class.
_KINDS = {
    "torch/optim/optimizer.py:": Kind("an optimizer", "its state (momentum, moments) begins at zero in every step"),
    "torch/optim/lr_scheduler.py:": Kind("a scheduler", "it begins at its first step in every step"),
    "torch/utils/data/dataloader.py:": Kind("a DataLoader", LOADER_LOSS),
    "torch/nn/modules/module.py:": Kind("a module", by_time=True),
}

_INIT = "__init__"


def construction(steps: MeasuredSteps) -> Iterator[Finding]:
    """``construction``: an optimizer, a module, a scheduler or a DataLoader is constructed in every step."""
    constructors = steps.outermost(lambda row: _is_constructor(steps, row))
    kinds = {path: kind for path in constructors if (kind := _kind(steps, path)) is not None}
    for (_, kind), paths in steps.grouped(lambda path: (steps.paths["node"][path], kinds[path]), kinds).items():
        constructed = len(paths)
        if kind.loss is LOADER_LOSS:
            paths = [*paths, *starts_of_every_step(steps)]
        time = steps.unclaimed(paths)
        writes = any(steps.paths["ops"][path] for path in paths)  # the first values of parameters
        if kind.by_time and time < limits.CONSTRUCTION_SHARE * steps.step and not writes:
            continue
        yield _constructed(steps, kind, paths[:constructed], paths, time)


def _is_constructor(steps: MeasuredSteps, path: int) -> bool:
    """Whether a path is an outermost constructor that the program calls in every step."""
    if steps.name(path) != _INIT or not steps.main[path] or path in steps.claimed or not steps.every(path):
        return False
    parent = steps.paths["parent"][path]
    return steps.phase(path) not in (BACKWARD, DATA) and steps.is_user(parent) and steps.calls(path) >= limits.EVERY


def _kind(steps: MeasuredSteps, path: int) -> Kind | None:
    """Return the kind of the constructed object, by its own constructor: that of its base class is called by it, or is
    it. The constructor of a base class comes before those of its parts."""
    name = steps.trace.nodes["class"][steps.paths["node"][path]]
    for row in (path, *steps.below(path)):
        if steps.name(row) == _INIT and steps.trace.nodes["class"][steps.paths["node"][row]] == name:
            for file, kind in _KINDS.items():
                if steps.key(row).startswith(file):
                    return kind
    return None


def _constructed(steps: MeasuredSteps, kind: Kind, paths: list[int], claimed: list[int], time: float) -> Finding:
    heaviest = max(paths, key=steps.total)
    name = steps.trace.nodes["class"][steps.paths["node"][heaviest]]
    caller = steps.user(steps.paths["parent"][heaviest])
    count = sum(map(steps.calls, paths))
    steps.claim(claimed)
    what = kind.noun if kind.noun.endswith(name) else f"{kind.noun} ({name})"
    loss = f"; {kind.loss}" if kind.loss else ""
    return steps.finding(
        f"{steps.name(caller)} constructs {what} in every step",
        steps.where(caller, name),
        time,
        f"{counted(count, 'construction')} per step, {steps.of_step(time)}{loss}",
        "construct it once before the loop",
        evidence={"class": name, "calls_per_step": round(count, 2), "ns_per_step": round(time)},
        least="warning" if kind.loss else "",
    )
