"""``unfused-optimizer``: the optimizer updates each parameter with its own operators."""

from __future__ import annotations

import re
from collections.abc import Iterator

from fastdispatch.detectors import limits
from fastdispatch.detectors.measured_steps import MeasuredSteps, number
from fastdispatch.detectors.model import Finding
from fastdispatch.read.source_calls import called, keyword
from fastdispatch.text.formats import percent, seconds

ID = "unfused-optimizer"

_SINGLE = re.compile(r"_single_tensor_\w+$")

ADVICE = "give the optimizer fused=True or foreach=True: a few operators then update all parameters"


def find(steps: MeasuredSteps) -> Iterator[Finding]:
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
        ID,
        f"{steps.name(paths[0])} updates each parameter with its own operators",
        where,
        time,
        f"{number(ops)} operators per step, {seconds(time)} or {percent(share)} of a step{reason}",
        ADVICE,
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
