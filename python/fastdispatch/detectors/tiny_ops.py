"""``tiny-ops``: a Python loop calls many small operators that one operator can replace."""

from __future__ import annotations

from collections.abc import Iterator

from fastdispatch.detectors import limits
from fastdispatch.detectors.measured_steps import DATA, PLUMBING, Steps, number, percent
from fastdispatch.detectors.model import Finding
from fastdispatch.read.summary import seconds

ID = "tiny-ops"

ADVICE_OPS = (
    "replace the loop by operators on whole tensors (stack, cumsum, einsum, torch._foreach_* over lists of tensors), or"
    " compile the function"
)
ADVICE_MODULE = "use one call over the whole sequence (nn.LSTM or nn.GRU instead of a cell), or compile the loop"
ADVICE_ZERO = "use zero_grad(set_to_none=True), the default: it drops the gradients instead of writing zeros"


def find(steps: Steps) -> Iterator[Finding]:
    yield from _loops(steps)
    yield from _zeros(steps)


def _loops(steps: Steps) -> Iterator[Finding]:
    loops: dict[int, list[int]] = {}
    for path in range(len(steps.paths["node"])):
        caller = _caller(steps, path)
        if caller >= 0:
            loops.setdefault(caller, []).append(path)
    for caller, paths in sorted(loops.items(), key=lambda loop: -sum(map(steps.total, loop[1]))):
        open_ = [path for path in paths if path not in steps.claimed]
        ops = sum(steps.paths["ops"][path] for path in open_) / max(steps.count, 1)
        direct = steps.unclaimed(open_)
        gain = steps.unclaimed(open_, backward=True)
        if not open_ or gain < limits.TINY_SHARE * steps.step or direct > ops * limits.TINY_US * 1e3:
            continue
        steps.claim(open_)
        yield _finding(steps, caller, open_, ops, gain)


def _caller(steps: Steps, path: int) -> int:
    """Return the function that calls a path in a loop, -1 for other paths."""
    parents, calls = steps.paths["parent"], steps.paths["calls"]
    if not steps.main[path] or steps.phase(path) == DATA or steps.activity(path) < 0.5 or parents[path] < 0:
        return -1
    caller, least = parents[path], limits.LOOP_OPS
    if steps.kind(path) == "python":
        if steps.paths["module"][path] < 0 or steps.name(path) in PLUMBING:
            return -1
        least = limits.LOOP_MODULES
        while caller >= 0 and steps.name(caller) in PLUMBING:
            caller = parents[caller]
    elif steps.kind(path) != "op":
        return -1
    if caller < 0 or not steps.is_user(caller):
        return -1
    if steps.kind(path) == "op" and len(_modules(steps, caller)) >= limits.LOOP_OPS // 2:
        return -1  # once per layer
    return caller if calls[path] >= least * max(calls[caller], steps.paths["steps"][caller], 1) else -1


def _modules(steps: Steps, caller: int) -> set[int]:
    """Return the modules that a function calls."""
    modules = steps.paths["module"]
    return {modules[row] for row in steps.outermost(lambda row: modules[row] >= 0, caller + 1, steps.end[caller])}


def _finding(steps: Steps, caller: int, paths: list[int], ops: float, gain: float) -> Finding:
    heaviest = max(paths, key=steps.total)
    module = steps.kind(heaviest) == "python"
    again = steps.paths["calls"][heaviest] / max(steps.paths["calls"][caller], steps.paths["steps"][caller], 1)
    what = steps.trace.nodes["class"][steps.paths["node"][heaviest]] if module else steps.key(heaviest)
    keys = {steps.key(path) for path in paths}
    return steps.finding(
        ID,
        f"a loop in {steps.name(caller)} calls {what} {number(again)} times",
        steps.where(caller),
        gain,
        f"{number(ops)} operators per step, {seconds(sum(map(steps.total, paths)) / max(ops, 1))} each;"
        f" {percent(gain / steps.step)} of a step with their backward",
        ADVICE_MODULE if module else ADVICE_OPS,
        evidence={
            "operators_per_step": round(ops, 1),
            "repetitions": round(again, 1),
            "calls": sorted(keys),
            "ns_per_step": round(gain),
        },
    )


def _zeros(steps: Steps) -> Iterator[Finding]:
    """Report gradients that are set to zero instead of None."""
    nodes = {node for node, name in enumerate(steps.trace.nodes["name"]) if name == "zero_grad"}
    zeros = {"aten::zero_", "aten::_foreach_zero_"}
    paths = [
        row
        for path, node in enumerate(steps.paths["node"])
        if node in nodes and steps.is_torch(path)
        for row in steps.below(path)
        if steps.key(row) in zeros and steps.kind(steps.paths["parent"][row]) != "op" and steps.every(row)
    ]
    if not paths:
        return
    adds = [
        row
        for path in steps.named("torch::autograd::AccumulateGrad")
        for row in steps.children[path]
        if steps.key(row) == "aten::add_"
    ]
    time = steps.unclaimed([*paths, *adds])
    count = sum(
        steps.calls(row) for path in paths for row in (path, *steps.below(path)) if steps.key(row) == "aten::zero_"
    )
    steps.claim(paths)
    yield steps.finding(
        ID,
        "zero_grad writes zeros into every gradient",
        steps.where(paths[0], "zero_grad"),
        time,
        f"{number(count)} aten::zero_ per step, and gradients are added instead of stored: {seconds(time)} a step",
        ADVICE_ZERO,
        evidence={"operators_per_step": round(count, 1), "ns_per_step": round(time), "calls": ["aten::zero_"]},
    )
