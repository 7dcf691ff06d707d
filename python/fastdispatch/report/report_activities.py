"""Parts of the training that are recognised in the call paths: evaluation, checkpoint saving, recomputation, gradient
accumulation."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from fastdispatch.detectors.measured_steps import BACKWARD, DATA, FORWARD, OPTIMIZER, MeasuredSteps
from fastdispatch.detectors.repeated_work import EVAL, is_recomputed
from fastdispatch.read.trace import Trace

#: Functions that save a checkpoint, by name: of PyTorch, Hugging Face, Lightning, DeepSpeed.
_SAVING = {"save_checkpoint", "_save_checkpoint", "save_pretrained"}
_SAVE = "torch/serialization.py:[]:save"

#: Functions that switch gradients off, and folders of compilers, which do so while they compile.
_WITHOUT_GRADIENTS = {
    "torch/autograd/grad_mode.py:[no_grad]:__enter__",
    "torch/autograd/grad_mode.py:[inference_mode]:__enter__",
}
_COMPILERS = ("torch/_dynamo/", "torch/_inductor/", "torch/_functorch/", "torch/fx/", "torch/_subclasses/")


@dataclass
class Activity:
    """An activity in the covered steps: its calls, and its time on main threads in ns, mean of the ranks."""

    name: str  # evaluation, checkpoint saving or recomputation
    calls: float
    time: int


def activities(trace: Trace) -> list[Activity]:
    """Return the recognised activities of a trace with steps; a call is part of one of them."""
    steps = MeasuredSteps(trace)
    if not steps.ranks or trace.reduced is not None:
        return []
    rules: dict[str, Callable[[MeasuredSteps, int], bool]] = {
        "evaluation": _is_evaluation,
        "checkpoint saving": _is_saving,
        "recomputation": is_recomputed,
    }
    found: dict[str, list[int]] = {name: [] for name in rules}
    for path in steps.outermost(lambda row: steps.main[row] and any(rule(steps, row) for rule in rules.values())):
        found[next(name for name, rule in rules.items() if rule(steps, path))].append(path)
    ranks = len(steps.ranks)
    made = []
    for name, paths in found.items():
        calls, time = (sum(steps.paths[figure][path] for path in paths) / ranks for figure in ("calls", "total"))
        made += [Activity(name, calls, round(time))] * bool(paths)
    return made


def _is_saving(steps: MeasuredSteps, path: int) -> bool:
    return steps.is_python(path) and (steps.key(path) == _SAVE or steps.name(path) in _SAVING)


def backward_passes(trace: Trace) -> float | None:
    """Return the backward passes of a step if gradients accumulate over several, else None: one function starts all of
    them, in every step, and sets the gradients to zero less often."""
    steps = MeasuredSteps(trace)
    if not steps.ranks or trace.reduced is not None:
        return None
    passes: dict[int, float] = {}
    for path in steps.passes:
        if steps.every(path):
            passes[steps.user(path)] = passes.get(steps.user(path), 0.0) + steps.calls(path)
    zeroed = sum(steps.calls(path) for path in steps.outermost(lambda row: steps.main[row] and _is_zeroing(steps, row)))
    most = max(passes.values(), default=0.0)
    return most if most >= 1.5 and zeroed < 0.75 * most else None


def _is_zeroing(steps: MeasuredSteps, path: int) -> bool:
    return steps.is_python(path) and steps.name(path) == "zero_grad"


def _is_evaluation(steps: MeasuredSteps, path: int) -> bool:
    """Whether a function of a few steps, outside of forward passes of training, runs modules without a backward pass,
    and no other part of training, and modules are switched to evaluation, or gradients off."""
    if not steps.is_python(path) or not 0 < steps.activity(path) < 0.5 or steps.phase(path) in (BACKWARD, DATA):
        return False
    if steps.file(path).startswith(_COMPILERS) or steps.key(path) in _WITHOUT_GRADIENTS:
        return False
    above = steps.paths["parent"][path]
    if above >= 0 and steps.phase(above) == FORWARD:
        return False
    rows = range(path, steps.end[path])
    if all(steps.paths["module"][row] < 0 for row in rows):
        return False
    if any(steps.phase(row) in (BACKWARD, OPTIMIZER) or steps.paths["backward"][row] for row in rows):
        return False
    return any(_starts_evaluation(steps, row) for row in (*rows, *_beside(steps, path)))


def _beside(steps: MeasuredSteps, path: int) -> Iterator[int]:
    """Yield the calls of the functions around a path, up to the innermost one of the program."""
    for above in steps.above(path):
        yield from steps.children[above]
        if steps.is_user(above) and not steps.is_part(above):
            return


def _starts_evaluation(steps: MeasuredSteps, path: int) -> bool:
    """Whether a call, of few steps, switches to evaluation or gradients off."""
    of_few = 0 < steps.activity(path) < 0.5
    return of_few and bool(steps.key(path) in _WITHOUT_GRADIENTS or EVAL.search(steps.key(path)))
