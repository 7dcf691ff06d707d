"""``evaluation``: the model that is trained is evaluated in every step."""

from __future__ import annotations

import re
from collections.abc import Iterator

from fastdispatch.detectors import limits
from fastdispatch.detectors.measured_steps import BACKWARD, FORWARD, OPTIMIZER, MeasuredSteps, counted
from fastdispatch.detectors.model import Finding
from fastdispatch.text.formats import percent, seconds

ID = "evaluation"

#: Names of functions that evaluate a model.
_EVALUATES = re.compile(r"(^|_)(eval(uate|uation)?|valid(ate|ation)?|test|benchmark)(_|$)", re.IGNORECASE)

#: Keys of calls that switch a module to evaluation.
EVAL = re.compile(r"torch/nn/modules/module\.py:\[[^]]*\]:eval$")

ADVICE = "evaluate every N steps or once per epoch, on fewer batches, with larger batches and torch.inference_mode()"


def find(steps: MeasuredSteps) -> Iterator[Finding]:
    modules = steps.paths["module"]
    # Modules whose forward has a backward pass.
    trained = {modules[row] for row, time in enumerate(steps.paths["backward"]) if modules[row] >= 0 and time}
    groups: dict[int, list[int]] = {}
    for path in steps.outermost(lambda row: _is_forward_only(steps, row, trained)):
        top = _function(steps, path)
        if top >= 0:
            groups.setdefault(steps.paths["node"][top], []).append(top)
    for tops in groups.values():
        paths = sorted(set(tops))
        if _evaluates(steps, paths):
            rows = [row for path in paths for row in _rows(steps, path, trained)]
            time = steps.usual(steps.unclaimed(rows))
            if time >= limits.EVALUATION_SHARE * steps.step:
                yield _finding(steps, paths, rows, time)


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


def _finding(steps: MeasuredSteps, paths: list[int], rows: list[int], time: float) -> Finding:
    path = max(paths, key=steps.total)
    inline = _trains(steps, path)
    caller = path if inline else steps.user(steps.paths["parent"][path])
    where = steps.where(path) if caller < 0 else steps.where(caller, "eval" if inline else steps.name(path))
    count, share = sum(map(steps.calls, rows)), time / steps.step
    steps.claim(rows)
    what = "evaluates the model" if inline else f"calls {steps.name(path)}, which evaluates the model,"
    return steps.finding(
        ID,
        f"{steps.name(caller if caller >= 0 else path)} {what} in every step",
        where,
        time,
        f"{counted(count, 'forward pass' if inline else 'call')} per step without a backward pass,"
        f" {seconds(share * steps.typical)} or {percent(share)} of a step",
        ADVICE,
        evidence={"calls_per_step": round(count, 2), "ns_per_step": round(time)},
    )
