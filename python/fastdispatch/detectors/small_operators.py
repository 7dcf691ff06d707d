"""Many small operators where few large ones do the same: in optimizers, and in loops."""

import re
from collections.abc import Iterator

from fastdispatch.detectors import limits
from fastdispatch.detectors.measured_steps import DATA, FORWARD, OTHER, PLUMBING, MeasuredSteps, number
from fastdispatch.detectors.model import Finding
from fastdispatch.read.source_calls import called, keyword
from fastdispatch.text.formats import percent, seconds

_SINGLE = re.compile(r"_single_tensor_\w+$")


def unfused_optimizer(steps: MeasuredSteps) -> Iterator[Finding]:
    """``unfused-optimizer``: the optimizer updates each parameter with its own operators."""
    single = {node for node, name in enumerate(steps.trace.nodes["name"]) if _SINGLE.match(name)}
    paths = [path for path, node in enumerate(steps.paths["node"]) if node in single and steps.activity(path) >= 0.5]
    time = steps.unclaimed(paths)
    if not paths or not time:
        return
    ops = sum(steps.paths["ops"][path] for path in paths) / max(steps.count, 1)
    selected = _selected(steps)
    share = time / steps.step
    large = ops >= limits.UNFUSED_OPS and share >= limits.UNFUSED_LARGE_SHARE and time < ops * limits.TINY_US * 1e3
    if not large and not (selected and share >= limits.UNFUSED_SHARE):
        return
    steps.claim(paths)
    where = steps.where(paths[0], "step")
    if selected:
        where.key, where.file, where.line = selected
    reason = "; the program selects foreach=False" if selected else ""
    yield steps.finding(
        f"{steps.name(paths[0])} updates each parameter with its own operators",
        where,
        time,
        f"{number(ops)} operators per step, {seconds(time)} or {percent(share)} of a step{reason}",
        "give the optimizer fused=True or foreach=True: a few operators then update all parameters",
        evidence={"operators_per_step": round(ops, 1), "ns_per_step": round(time), "selected": bool(selected)},
    )


def _selected(steps: MeasuredSteps) -> tuple[str, str, int] | None:
    """Return key, file and line of the function that makes an optimizer with foreach=False."""
    steps = steps.whole  # optimizers are made before the first step
    made = {
        node
        for node, (name, file) in enumerate(zip(steps.trace.nodes["name"], steps.trace.nodes["file"], strict=True))
        if name == "__init__" and file.startswith("torch/optim/")
    }
    users = {steps.user(path) for path, node in enumerate(steps.paths["node"]) if node in made}
    for user in sorted(users - {-1}):
        node = steps.paths["node"][user]
        for call in steps.sources.calls(node):
            if keyword(call, "foreach") is False and called(call):
                return steps.keys[node], steps.trace.nodes["file"][node], call.lineno
    return None


#: Functions of PyTorch that call operators on behalf of the program.
_FUNCTIONS = ("torch/nn/functional.py", "torch/nn/utils/", "torch/functional.py", "torch/_tensor.py")

#: Operators of layers: a short loop with one of them is a model.
_LAYER_NAMES = """
linear matmul mm addmm bmm conv1d conv2d conv3d scaled_dot_product_attention
"""
_LAYERS = {f"aten::{name}" for name in _LAYER_NAMES.split()}

_BACKWARD = "torch/_tensor.py:[Tensor]:backward"

ADVICE_OPS = (
    "replace the loop by operators on whole tensors (stack, cumsum, einsum, torch._foreach_* over lists of tensors), or"
    " compile the function"
)
ADVICE_MODULE = "use one call over the whole sequence (nn.LSTM or nn.GRU instead of a cell), or compile the loop"


def tiny_ops(steps: MeasuredSteps) -> Iterator[Finding]:
    """``tiny-ops``: a Python loop calls many small operators that one operator can replace."""
    yield from _loops(steps)
    yield from _zeros(steps)


def _loops(steps: MeasuredSteps) -> Iterator[Finding]:
    loops: dict[int, list[int]] = {}
    for path in range(len(steps.paths["node"])):
        caller = _caller(steps, path)
        if caller >= 0 and _again(steps, path, caller) >= limits.LOOP_SHORT:
            loops.setdefault(caller, []).append(path)
    functions: dict[int, list[int]] = {}
    for caller, repeated in loops.items():
        functions.setdefault(steps.paths["node"][caller], []).extend(_of_loop(steps, caller, repeated))
    for paths in sorted(functions.values(), key=lambda paths: -sum(map(steps.total, paths))):
        open_ = [path for path in paths if path not in steps.claimed]
        ops = sum(steps.paths["ops"][path] for path in open_) / max(steps.count, 1)
        direct = steps.unclaimed(open_)
        gain = steps.unclaimed(open_, backward=True)
        if not open_ or not _matters(steps, gain, ops) or direct > ops * limits.TINY_US * 1e3:
            continue
        steps.claim(open_)
        yield _finding(steps, open_, ops, gain)


def _matters(steps: MeasuredSteps, gain: float, ops: float) -> bool:
    """Whether a loop has a part of the time of a step, or a part of its operators and some time."""
    if gain >= limits.TINY_SHARE * steps.step:
        return True
    paths = steps.paths
    every = sum(paths["ops"][row] for row, parent in enumerate(paths["parent"]) if parent < 0) / max(steps.count, 1)
    return gain >= limits.TINY_LEAST * steps.step and ops >= limits.TINY_OPS * every


def _caller(steps: MeasuredSteps, path: int) -> int:
    """Return the function of the program that calls an operator, a module, or a function of PyTorch with operators; -1
    for other paths."""
    caller = steps.paths["parent"][path]
    if not steps.main[path] or steps.phase(path) == DATA or steps.activity(path) < 0.5 or caller < 0:
        return -1
    if _is_module(steps, path):
        while caller >= 0 and steps.name(caller) in PLUMBING:
            caller = steps.paths["parent"][caller]
    elif steps.kind(path) != "op" and not _is_function(steps, path):
        return -1
    return caller if caller >= 0 and steps.main[caller] and steps.is_user(caller) else -1


def _is_module(steps: MeasuredSteps, path: int) -> bool:
    return steps.is_python(path) and steps.paths["module"][path] >= 0 and steps.name(path) not in PLUMBING


def _is_function(steps: MeasuredSteps, path: int) -> bool:
    """Whether a path is a function of PyTorch that calls operators on behalf of the program."""
    return (
        steps.is_torch(path)
        and steps.file(path).startswith(_FUNCTIONS)
        and steps.phase(path) in (OTHER, FORWARD)
        and steps.name(path) not in PLUMBING
        and steps.paths["ops"][path] > 0
    )


def _again(steps: MeasuredSteps, path: int, caller: int) -> float:
    """Return how often one call of a function repeats a path."""
    return float(steps.paths["calls"][path] / max(steps.paths["calls"][caller], steps.paths["steps"][caller], 1))


def _of_loop(steps: MeasuredSteps, caller: int, paths: list[int]) -> list[int]:
    """Return the repeated paths that a loop over elements, parameters or time has; not those of a loop over layers or
    micro-batches."""
    most = max(_again(steps, path, caller) for path in paths)
    backward = (_again(steps, row, caller) for row in steps.below(caller) if steps.key(row) == _BACKWARD)
    if 2 * max(backward, default=0.0) >= most:
        return []
    layers = len(_modules(steps, caller))
    long = [
        path
        for path in paths
        if (_is_module(steps, path) and _again(steps, path, caller) >= limits.LOOP_MODULES)
        or (steps.kind(path) == "op" and _again(steps, path, caller) >= limits.LOOP_OPS > 2 * layers)
    ]
    if long or 2 * layers >= most or any(_is_module(steps, path) or steps.key(path) in _LAYERS for path in paths):
        return long
    return paths if sum(_operators(steps, path, caller) for path in paths) >= limits.LOOP_OPS else []


def _operators(steps: MeasuredSteps, path: int, caller: int) -> float:
    """Return the operators of a path per call of the function: those below an operator do not count."""
    again = _again(steps, path, caller)
    return again if steps.kind(path) == "op" else again * steps.paths["ops"][path] / steps.paths["calls"][path]


def _public(steps: MeasuredSteps, path: int) -> str:
    """Return the name of an operator, or of a function without the wrappers around it."""
    while steps.is_python(path) and steps.name(path).startswith("_") and steps.children[path]:
        path = max(steps.children[path], key=steps.total)
    return steps.name(path) if steps.is_python(path) else steps.key(path)


def _modules(steps: MeasuredSteps, caller: int) -> set[int]:
    """Return the modules that a function calls."""
    modules = steps.paths["module"]
    return {modules[row] for row in steps.outermost(lambda row: modules[row] >= 0, caller + 1, steps.end[caller])}


def _finding(steps: MeasuredSteps, paths: list[int], ops: float, gain: float) -> Finding:
    heaviest = max(paths, key=steps.total)
    caller = _caller(steps, heaviest)
    module = _is_module(steps, heaviest)
    again = _again(steps, heaviest, caller)
    what = steps.trace.nodes["class"][steps.paths["node"][heaviest]] if module else _public(steps, heaviest)
    user = steps.user(caller) if steps.user(caller) >= 0 else caller
    keys = {steps.key(path) for path in paths}
    where = steps.where(caller)
    where.line = _line(steps, paths) or where.line
    return steps.finding(
        f"a loop in {steps.name(user)} calls {what} {number(again)} times",
        where,
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


def _line(steps: MeasuredSteps, paths: list[int]) -> int:
    """Return the line of the heaviest repeated call or expression that the source shows, else that of its loop."""
    order = sorted(paths, key=steps.total, reverse=True)
    node = steps.paths["node"][steps.user(_caller(steps, order[0]))]
    names = [name for path in order for name in _spellings(steps, path)]
    return steps.sources.repeated(node, names)


def _spellings(steps: MeasuredSteps, path: int) -> list[str]:
    """Return names in the source for an operator, a function or a module (its attribute, or its class)."""
    if not _is_module(steps, path):
        return [_public(steps, path).removeprefix("aten::").rstrip("_")]
    attribute = steps.trace.modules["path"][steps.paths["module"][path]].split(".")[-1]
    return [attribute, steps.trace.nodes["class"][steps.paths["node"][path]].lower()]


def _zeros(steps: MeasuredSteps) -> Iterator[Finding]:
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
        "zero_grad writes zeros into every gradient",
        steps.where(paths[0], "zero_grad"),
        time,
        f"{number(count)} aten::zero_ per step, and gradients are added instead of stored: {seconds(time)} per step",
        "use zero_grad(set_to_none=True), the default: it drops the gradients instead of writing zeros",
        evidence={"operators_per_step": round(count, 1), "ns_per_step": round(time), "calls": ["aten::zero_"]},
    )
