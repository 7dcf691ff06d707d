"""``device-copy``: tensors are copied to another dtype, layout or device in every step."""

from collections.abc import Callable, Iterable, Iterator

from fastdispatch.detectors import limits
from fastdispatch.detectors.gpu_clock import PAGEABLE
from fastdispatch.detectors.measured_steps import (
    BACKWARD,
    DATA,
    FORWARD,
    OPTIMIZER,
    OTHER,
    MeasuredSteps,
    counted,
    number,
    steps_of,
)
from fastdispatch.detectors.model import Finding
from fastdispatch.text.formats import percent, seconds

#: Operators that copy, and the one below them that shows that they did.
_COPIES = {"aten::_to_copy", "aten::clone", "aten::copy_"}
_TOP = {"aten::to", "aten::contiguous", "aten::reshape", "aten::clone", "aten::copy_", "aten::_to_copy", "aten::cpu"}

#: Functions of PyTorch that copy on behalf of the program.
_OF_MODULE = ("torch/nn/modules/module.py", "torch/_tensor.py")

#: Operators that make tensors of known values or of others.
_MAKES = {f"aten::{name}" for name in ("cat", "stack", "zeros", "ones", "full", "zeros_like", "ones_like", "full_like")}

_SPELLING = {
    "aten::to": ("to", "float", "double", "half", "bfloat16", "type", "type_as", "cuda", "cpu", "int", "long"),
    "aten::contiguous": ("contiguous",),
    "aten::clone": ("clone", "contiguous"),
    "aten::reshape": ("reshape", "flatten"),
    "aten::copy_": ("copy_",),
}

ADVICE = (
    "convert once outside the loop: keep weights, buffers and input in the dtype, in the layout and on the device in"
    " which they are used"
)
ADVICE_MADE = "allocate the tensor once, before the loop, and write into it: copy_, fill_, index_copy_, out="


def device_copy(steps: MeasuredSteps) -> Iterator[Finding]:
    yield from weight_copies(steps)
    yield from rare_saves(steps)
    yield from _pageable(steps)
    yield from _copies(steps, _is_copy, limits.COPY_SHARE, "copies tensors", ADVICE)
    yield from _copies(steps, _is_made, limits.MADE_SHARE, "makes tensors anew", ADVICE_MADE)
    yield from _casts(steps)


def _pageable(steps: MeasuredSteps) -> Iterator[Finding]:
    """Report copies to the device from memory that is not pinned: the host waits for them, and the GPU mostly too."""
    if steps.gpu is None:
        return
    copied = (path for path in steps.named(PAGEABLE) if path not in steps.claimed and steps.user(path) >= 0)
    for kernels in steps.grouped(lambda path: steps.paths["node"][steps.user(path)], copied).values():
        paths = {_outermost_operator(steps, path) for path in kernels}
        time = max(steps.unclaimed(paths), sum(steps.gpu.drained[path] for path in paths))
        if time < limits.PAGEABLE_SHARE * steps.gpu.step:
            continue
        first = max(paths, key=steps.total)
        copies = sum(steps.calls(path) for path in paths)
        steps.claim(paths)
        yield steps.finding(
            f"{steps.name(steps.user(first))} copies pageable memory to the GPU, {counted(copies, 'call')} per step",
            steps.where(first, *_SPELLING.get(steps.key(first), ())),
            time,
            f"{seconds(time)} or {percent(time / steps.gpu.step)} of a step in {PAGEABLE}, and idle because of it",
            "pin the memory (DataLoader pin_memory=True, or Tensor.pin_memory) and copy with non_blocking=True",
            evidence=_evidence(steps, paths, copies, time),
        )


def _outermost_operator(steps: MeasuredSteps, path: int) -> int:
    """Return the outermost operator around a kernel, or the function that launched it."""
    found: int = steps.paths["parent"][path]
    for above in steps.above(path):
        if steps.kind(above) != "op":
            return found
        found = above
    return found


def _copies(
    steps: MeasuredSteps, is_one: Callable[[MeasuredSteps, int], bool], share: float, verb: str, advice: str
) -> Iterator[Finding]:
    copies = (path for path in range(len(steps.main)) if is_one(steps, path) and steps.user(path) >= 0)
    for paths in steps.grouped(lambda path: steps.paths["node"][steps.maker(path)], copies).values():
        time = steps.unclaimed(paths, backward=True)
        if time < share * steps.step:
            continue
        heaviest = max(paths, key=lambda path: steps.total(path) + steps.backward(path))
        count = sum(map(steps.calls, paths))
        steps.claim(paths)
        maker = steps.maker(heaviest)
        where = steps.place(heaviest, maker, *_SPELLING.get(steps.key(heaviest), ()))
        yield steps.finding(
            f"{steps.name(maker)} {verb}, {counted(count, 'call')} per step ({steps.key(heaviest)})",
            where,
            time,
            f"{steps.of_step(time)}{' with backward' * steps.trains}, in"
            f" {', '.join(sorted({steps.key(path) for path in paths}))}",
            advice,
            evidence=_evidence(steps, paths, count, time),
            **({"severity": "info"} if where.called_from else {}),
        )


def _evidence(steps: MeasuredSteps, paths: Iterable[int], calls: float, time: float) -> dict[str, object]:
    return {
        "operators": sorted({steps.key(path) for path in paths}),
        "calls_per_step": round(calls, 2),
        "ns_per_step": round(time),
    }


def _is_made(steps: MeasuredSteps, path: int) -> bool:
    """Whether a function of the program makes a tensor outside of the model in most steps."""
    if steps.key(path) not in _MAKES or steps.kind(path) != "op" or not steps.main[path] or path in steps.claimed:
        return False
    return steps.phase(path) == OTHER and steps.activity(path) >= 0.5 and steps.is_user(steps.paths["parent"][path])


def _is_copy(steps: MeasuredSteps, path: int) -> bool:
    """Whether a path is a copy that a function of the program makes in most steps."""
    if steps.key(path) not in _TOP or steps.kind(path) != "op" or not steps.main[path] or path in steps.claimed:
        return False
    if steps.phase(path) not in (OTHER, FORWARD) or steps.activity(path) < 0.5:
        return False
    parent = steps.paths["parent"][path]
    if not steps.is_python(parent) or (steps.is_torch(parent) and steps.file(parent) not in _OF_MODULE):
        return False
    return steps.key(path) in _COPIES or any(steps.key(row) in _COPIES for row in steps.below(path))


def _casts(steps: MeasuredSteps) -> Iterator[Finding]:
    """Report casts of autocast that are repeated for each call of a module in a step."""
    for path in range(len(steps.paths["node"])):
        if steps.paths["module"][path] < 0 or steps.calls(path) < 1.5 or not steps.every(path) or path in steps.claimed:
            continue
        casts = [
            row
            for row in steps.below(path)
            if steps.key(row) == "aten::_to_copy" and steps.caller(row) == path and steps.phase(row) == FORWARD
        ]
        calls = steps.paths["calls"][path]
        count = sum(steps.paths["calls"][row] for row in casts)
        time = steps.unclaimed(casts)
        cached = 1 + 2 / steps.calls(path)  # casts per call with the cache: the input, and two parameters once a step
        if count < limits.CASTS * cached * calls or time < limits.CAST_SHARE * steps.step:
            continue
        steps.claim(casts)
        again = 1 - 1 / steps.calls(path)
        yield steps.finding(
            f"autocast casts the weights of {steps.trace.modules['path'][steps.paths['module'][path]]} in every call",
            steps.where(path),
            time * again,
            f"{number(count / calls)} casts per call, {number(steps.calls(path))} calls per step, "
            f"{seconds(time)} in total",
            "keep the cache of torch.autocast on, and enter it once per step, so that a weight is cast once",
            evidence={
                "operators": ["aten::_to_copy"],
                "calls_per_step": count / steps.count,
                "ns_per_step": round(time),
            },
        )


_SAVES = "saves tensors"
_TRAINS = (FORWARD, BACKWARD, OPTIMIZER)
_DEEPCOPY = "copy.py:[]:deepcopy"

#: Functions that copy a tensor as a part of an object.
_OF_TENSOR = ("torch/nn/parameter.py:[Parameter]:__deepcopy__", "torch/_tensor.py:[Tensor]:__deepcopy__")


def weight_copies(steps: MeasuredSteps) -> Iterator[Finding]:
    """Yield findings of functions of the program that copy whole models in every step."""
    copies = (
        path
        for path in steps.outermost(lambda row: _verb(steps, row) != "")
        if steps.user(path) >= 0
        and path not in steps.claimed
        and (steps.every(path) or (steps.activity(path) >= 0.5 and steps.total(path) >= limits.COPY_SHARE * steps.step))
    )
    for (user, verb), paths in steps.grouped(lambda path: (steps.user(path), _verb(steps, path)), copies).items():
        time = steps.unclaimed(paths)
        count = sum(map(steps.calls, paths))
        steps.claim(paths)
        yield steps.finding(
            f"{steps.name(user)} {verb} in every step",
            steps.where(paths[0], steps.name(paths[0])),
            time,
            f"{counted(count, 'call')} of {steps.name(paths[0])} per step, {seconds(time)} or"
            f" {percent(time / steps.step)} of a step; a copy to the CPU also waits for all queued work of a GPU",
            "do it every N steps or once per epoch; clone() only tensors that change; update a second model in place"
            " with torch._foreach_lerp_ or torch._foreach_copy_",
            evidence=_evidence(steps, paths[:1], count, time),
        )


def rare_saves(steps: MeasuredSteps) -> Iterator[Finding]:
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
