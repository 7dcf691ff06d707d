"""``host-sync``: the CPU reads a value of a tensor in every step, and waits for the device to compute it."""

from collections.abc import Iterator

from fastdispatch.detectors import limits
from fastdispatch.detectors.gpu_clock import TO_HOST
from fastdispatch.detectors.input_wait import makes_input
from fastdispatch.detectors.measured_steps import (
    BACKWARD,
    DATA,
    FORWARD,
    OPTIMIZER,
    OTHER,
    MeasuredSteps,
    counted,
    number,
)
from fastdispatch.detectors.model import Finding
from fastdispatch.read.compilations import COMPILED
from fastdispatch.read.source_calls import called
from fastdispatch.read.steps import PHASES

#: Operators whose result is a value, or has a shape that depends on values.
_SYNCHRONIZING_NAMES = """
_local_scalar_dense is_nonzero nonzero masked_select _unique2 unique_dim unique_consecutive equal bincount
"""
SYNCHRONIZING = {f"aten::{name}" for name in _SYNCHRONIZING_NAMES.split()}

#: Operators that read a value on a CPU only.
_ON_CPU_NAMES = """
std var std_mean var_mean one_hot quantile embedding_renorm_
"""
_ON_CPU_ONLY = {f"aten::{name}" for name in _ON_CPU_NAMES.split()}

#: Functions that wait for the device.
WAITING = ("torch/cuda/__init__.py:[]:synchronize", "torch/accelerator/__init__.py:[]:synchronize")

#: Methods that copy a tensor to the CPU.
COPYING = ("cpu", "numpy", "tolist")

#: Functions of PyTorch that read values on behalf of the program; other functions of PyTorch need them.
OF_TENSOR = ("torch/_tensor.py", "torch/_tensor_str.py", "torch/functional.py", "torch/_meta_registrations.py")

#: How the source spells the operators that a function calls.
SPELLING = {
    "aten::item": ("item", "float", "int", "bool", "any", "all", "isnan", "isfinite", "print", "tolist"),
    "aten::is_nonzero": ("any", "all", "bool", "isnan", "isfinite", "isinf"),
    "aten::nonzero_numpy": ("nonzero", "where", "argwhere"),
    "aten::nonzero": ("nonzero", "where", "argwhere"),
    "aten::equal": ("equal",),
    "aten::allclose": ("allclose",),
    "aten::masked_select": ("masked_select",),
    "aten::unique_consecutive": ("unique_consecutive",),
    "aten::_unique2": ("unique",),
    "aten::bincount": ("bincount",),
}

ADVICE = (
    "keep the value on the device (detach()) and read it every N steps, or after the loop; replace data-dependent"
    " branches and masks by torch.where"
)


_ANOMALY_CHECKS = {"aten::isnan", "aten::_is_any_true", "aten::item", "aten::is_nonzero"}
_STACKS = "torch/fx/traceback.py:[]:format_stack"


def anomaly_checks(steps: MeasuredSteps) -> Iterator[Finding]:
    """Yield the finding that anomaly detection is on in every step."""
    checked = {
        steps.paths["parent"][path]
        for path in steps.named("aten::_is_any_true")
        if steps.every(path) and steps.kind(steps.paths["parent"][path]) == "autograd"
    }
    if not checked:
        return
    checks = [row for path in checked for row in steps.children[path] if steps.key(row) in _ANOMALY_CHECKS]
    reads = sum(steps.calls(row) for row in checks if steps.key(row) == "aten::_is_any_true")
    slow = [*checks, *steps.named(_STACKS)]
    time = steps.unclaimed(slow)
    steps.claim(slow)
    backward = next(iter(steps.named("torch/_tensor.py:[Tensor]:backward")), min(checked))
    yield steps.finding(
        "anomaly detection is on: backward checks every gradient for NaN",
        steps.where(backward, "set_detect_anomaly", "detect_anomaly", "backward"),
        time,
        f"{number(reads)} checks per step, each of which reads a value, and the stack of every operator in forward:"
        f" {steps.of_step(time)}" + ("; each check waits for all queued work of a GPU" if steps.uses_gpu else ""),
        "use torch.autograd.detect_anomaly() to look for the cause of a NaN only, and switch it off for training",
        evidence={
            "operators": sorted({steps.key(row) for row in checks}),
            "calls_per_step": round(reads, 2),
            "ns_per_step": round(time),
            "phase": "backward",
        },
        least="warning",
    )


def host_sync(steps: MeasuredSteps) -> Iterator[Finding]:
    yield from anomaly_checks(steps)
    of_user = (path for path in reads_of_program(steps) if steps.user(path) >= 0)
    reads = steps.grouped(lambda path: steps.paths["node"][steps.maker(path)], of_user)
    reported = [node for node, paths in reads.items() if _is_reported(steps, paths)]
    for node in reported:
        yield _finding(steps, reads[node])
    if steps.gpu is None and steps.trains:  # on a GPU, operators show the copies; a server copies its results
        yield from _copies(steps, set(reported))


def _copies(steps: MeasuredSteps, known: set[int]) -> Iterator[Finding]:
    """Report ``.cpu()``, ``.numpy()`` and ``.tolist()`` in every step, by the source: on a CPU no operator runs."""
    seen: set[int] = set()
    for path, node in enumerate(steps.paths["node"]):
        wanted = steps.main[path] and steps.is_user(path) and steps.phase(path) in (OTHER, FORWARD)
        if not wanted or node in known or node in seen or not steps.every(path):
            continue
        if makes_input(steps, path) or path in steps.claimed:
            continue
        seen.add(node)
        calls = steps.sources.in_every_step(node, COPYING, steps.calls(path) >= limits.EVERY)
        if not calls:
            continue
        names = ", ".join(dict.fromkeys(f".{called(call)}()" for call in calls))
        where = steps.where(path)
        where.line = calls[0].func.end_lineno or calls[0].lineno
        yield steps.finding(
            f"{steps.name(path)} copies tensors to the CPU in every step ({names})",
            where,
            0.0,
            f"{counted(len(calls), 'call')} in the source; free on a CPU, but a GPU finishes all queued work first",
            ADVICE,
            evidence={"operators": [], "calls_per_step": len(calls), "ns_per_step": 0, "phase": "source"},
        )


def reads_of_program(steps: MeasuredSteps) -> Iterator[int]:
    """Yield the outermost operators with a synchronizing one at or below, as the program called them."""
    found: set[int] = set()
    nodes = {node for node, key in enumerate(steps.keys) if key in SYNCHRONIZING or key in WAITING}
    nodes |= {node for node, key in enumerate(steps.keys) if key.startswith(TO_HOST)}
    for path, node in enumerate(steps.paths["node"]):
        if node in nodes and steps.main[path] and path not in steps.claimed:
            top = path
            for above in steps.above(path):
                if steps.kind(above) != "op":
                    break
                top = above
            if steps.kind(top) == "kernel":  # a copy by a function without an operator
                top = steps.paths["parent"][top]
            if steps.key(top) in _ON_CPU_ONLY:
                continue
            if top not in found and _is_of_program(steps, top):
                found.add(top)
                yield top


def _is_of_program(steps: MeasuredSteps, path: int) -> bool:
    """Return whether the program reads a value, not PyTorch: an optimizer reads its step, a sampler its seed."""
    if steps.phase(path) in (DATA, OPTIMIZER):
        return False
    caller = path if steps.is_python(path) and steps.key(path) not in WAITING else steps.caller(path)
    if caller < 0 or any(steps.key(above).startswith(COMPILED) for above in steps.above(path)):
        return False
    return steps.key(path) in WAITING or not steps.is_torch(caller) or steps.file(caller) in OF_TENSOR


def _is_reported(steps: MeasuredSteps, paths: list[int]) -> bool:
    of_input = steps.phase(paths[0]) == OTHER and makes_input(steps, steps.user(paths[0]))  # input is on the CPU
    if steps.gpu is None and any(steps.every(path) for path in paths) and not of_input:
        return True
    around, _ = _around(steps, paths)
    if steps.gpu is not None:
        return _gain_on_gpu(steps, paths) >= limits.SYNC_GPU * steps.gpu.step and not of_input
    return steps.unclaimed(around) >= limits.SYNC_SHARE * steps.step and sum(map(steps.activity, paths)) >= 0.5


def _finding(steps: MeasuredSteps, paths: list[int]) -> Finding:
    heaviest = max(paths, key=lambda path: (steps.paths["calls"][path], steps.paths["total"][path]))
    maker = steps.maker(heaviest)
    count = sum(map(steps.calls, paths))
    around, prints = _around(steps, paths)
    if prints:
        count = sum(map(steps.calls, prints))
    loops = {row for path in paths if _is_loop(steps, steps.maker(path), paths) for row in _callers(steps, path)}
    time = steps.unclaimed(around) + sum(steps.own(row) for row in loops - steps.claimed)
    if steps.gpu is not None:
        time = max(time, _gain_on_gpu(steps, paths))
    steps.claim(around)
    steps.claimed |= loops
    operator = steps.key(heaviest)
    calls = ("print", "info", "debug", "write", "format", "repr", "str") if prints else SPELLING.get(operator, ())
    where = steps.place(heaviest, maker, *calls)
    node = steps.paths["node"][maker]
    if operator == "aten::is_nonzero" and where.line == steps.trace.nodes["line"][node]:
        where.line = steps.sources.branch(node) or where.line
    what = "prints tensors" if prints else f"reads values of tensors ({operator})"
    what = f"waits for the GPU ({steps.name(heaviest)})" if operator in WAITING else what
    times = f"{number(count)} times per step" if count >= 1.05 else "every step"
    phase = steps.phase(heaviest)
    inside = {OTHER: "in the loop", BACKWARD: "during backward"}.get(phase, "during forward")
    names = ", ".join(sorted({steps.key(path) for path in paths}))
    calls_text = f"{counted(count, 'call')} per step {inside}"
    proof = f"{names}: {calls_text}, {steps.of_step(time)}"
    notable = "warning" if phase != OTHER or count > limits.LOGGED else ""
    return steps.finding(
        f"{steps.name(maker)} {what} {times}",
        where,
        time,
        f"{proof}; each call waits for all queued work of a GPU" if steps.uses_gpu else proof,
        ADVICE,
        evidence={
            "operators": sorted({steps.key(path) for path in paths}),
            "calls_per_step": round(count, 2),
            "ns_per_step": round(time),
            "phase": PHASES[phase],
        },
        **({"severity": "info"} if where.called_from else {"least": notable}),  # a program cannot change a library
    )


def _gain_on_gpu(steps: MeasuredSteps, paths: list[int]) -> float:
    """Return the idle time of the GPU per step that began while the host waited, and that of the rest of a loop."""
    assert steps.gpu is not None
    around, _ = _around(steps, paths)
    rows = {row for path in around for row in range(path, steps.end[path])} - steps.claimed
    drained = sum(steps.gpu.drained[path] for path in paths if path not in steps.claimed)
    return max(drained, sum(steps.gpu.idle[row] for row in rows))


def _is_loop(steps: MeasuredSteps, maker: int, paths: list[int]) -> bool:
    """Return whether each call of a function loops over reads, so that its own time is that of the loop."""
    reads = sum(steps.calls(path) for path in paths if steps.maker(path) == maker)
    return limits.LOOP_OPS * limits.EVERY <= limits.LOOP_OPS * steps.calls(maker) <= reads


def _callers(steps: MeasuredSteps, path: int) -> Iterator[int]:
    """Yield the calls around a path, up to the one of the function of the program."""
    for above in steps.above(path):
        yield above
        if above == steps.maker(path):
            break


def _around(steps: MeasuredSteps, paths: list[int]) -> tuple[list[int], list[int]]:
    """Return the paths whose time reads of values take: with the rest of their loop, and with the calls that format
    tensors, which are also returned."""
    prints = sorted({_printing(steps, path, steps.maker(path)) for path in paths} - {-1})
    around = {*paths, *_loop(steps, paths), *prints}
    return list(steps.outermost(around.__contains__)), prints


def _printing(steps: MeasuredSteps, path: int, maker: int) -> int:
    """Return the call of the program that formats a tensor and reads values for it; -1 for other reads."""
    outer, formats = path, False
    for above in steps.above(path):
        if above == maker:
            break
        outer, formats = above, formats or steps.file(above) == "torch/_tensor_str.py"
    return outer if formats else -1


def _loop(steps: MeasuredSteps, paths: list[int]) -> Iterator[int]:
    """Yield the other operators of a loop around the reads: called as often as they are, by the same function."""
    for path in paths:
        parent = steps.paths["parent"][path]
        count, calls = steps.paths["calls"][path], max(steps.paths["calls"][parent], 1)
        if count < limits.LOOP_SHORT * calls:
            continue
        for other in steps.children[parent]:
            if (
                other not in paths
                and steps.kind(other) == "op"
                and count <= 2 * steps.paths["calls"][other] <= 4 * count
            ):
                yield other
