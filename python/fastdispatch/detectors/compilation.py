"""``torch.compile``: functions that are compiled again and again, or as several graphs."""

import re
from collections.abc import Iterator

from fastdispatch.detectors import limits
from fastdispatch.detectors.measured_steps import MeasuredSteps, counted
from fastdispatch.detectors.model import Finding
from fastdispatch.read.columns import rows
from fastdispatch.read.compilations import compilations
from fastdispatch.text.formats import percent, seconds

REGION = re.compile(r"Torch-Compiled Region: (\d+)/(\d+)")
#: Share of the run from which on recompilations are critical.
CRITICAL = 0.01

_COMPILES = "torch/_dynamo/convert_frame.py:[CatchErrorsWrapper]:__call__"


def recompile(steps: MeasuredSteps) -> Iterator[Finding]:
    """``recompile``: torch.compile compiles the same function again and again."""
    whole = steps.whole  # compilations are rare: also those of the first steps count
    compiles = list(whole.named(_COMPILES))
    regions = {node: REGION.match(key) for node, key in enumerate(whole.keys) if key.startswith("Torch-Compiled")}
    again = {(found[1], found[2]) for found in regions.values() if found and int(found[2]) > 0}
    active, last, time = _times(whole, set(compiles))
    if active < limits.COMPILING_STEPS and not (again and last >= limits.COMPILED_BY):
        return
    region = next((path for path, node in enumerate(whole.paths["node"]) if regions.get(node)), compiles[0])
    compiled = next((row for row in whole.below(region) if whole.is_user(row)), region)
    steps.claim(steps.named(_COMPILES))
    facts = [fact["recompilations"] for fact in compilations(whole.trace)]
    number = max([len(again), *(sum(int(row["count"]) for row in each) for each in facts)])
    often = max((row for each in facts for row in each), key=lambda row: int(row["count"]), default={"guard": ""})
    guard = often["guard"].partition("  # ")[0].strip()  # without the comment on its source
    yield steps.finding(
        f"{_named(whole, compiled)} is compiled again in {active - 1} steps",
        whole.where(compiled),
        time / whole.count,
        f"{number} recompilations, the last one in step {last}: {seconds(time)} in total without the longest one"
        + (f"; guard: {guard}" if guard else ""),
        "find the guard with TORCH_LOGS=recompiles; pad inputs to a few shapes, mark dynamic dimensions"
        " (torch._dynamo.mark_dynamic, dynamic=True), and pass numbers that change as tensors",
        steps=active - 1,
        evidence={"recompilations": number, "steps": active - 1, "last_step": last, "ns": round(time), "guard": guard},
        **whole.extent(time),
        severity="critical" if time >= CRITICAL * steps.step * whole.count else "warning",
    )


def _named(steps: MeasuredSteps, path: int) -> str:
    """Return the name of a compiled function, or of its caller if its calls are not recorded (a module of PyTorch)."""
    if steps.is_user(path):
        return steps.name(path)
    user = steps.user(path)
    return "a compiled module" if user < 0 else f"a compiled module that {steps.name(user)} calls"


def _times(steps: MeasuredSteps, paths: set[int]) -> tuple[int, int, float]:
    """Return in how many steps the paths ran, the number of the last one, and their time without the longest step of
    each. The first of these steps, and the longest, has the first compilation."""
    active, last, time = 0, 0, 0.0
    for index in range(len(steps.trace.ranks)):
        totals = steps.trace.core.contexts(index)["total"]
        figures = steps.trace.core.columns("figures", index)
        for path, count, number, longest in rows(figures, "context steps last_step total_max"):
            if path in paths:
                active, last = max(active, count), max(last, number)
                time += max(float(totals[path]) - longest, 0.0)
    return active, last, time


#: Name of the function that Dynamo makes for the rest after a break.
_RESUME = re.compile(r"torch_dynamo_resume_in_(.+)_at_(\d+)$")

#: Share of the time of the broken function that one graph may save; an estimate, since it cannot be measured.
_GUESS = 0.05


def graph_break(steps: MeasuredSteps) -> Iterator[Finding]:
    """``graph-break``: torch.compile splits a function into several graphs."""
    places: dict[int, tuple[str, int]] = {}  # by node
    for node, (name, file) in enumerate(zip(steps.trace.nodes["name"], steps.trace.nodes["file"], strict=True)):
        if found := _RESUME.match(name):
            places[node] = file, int(found[2])
    resumed = (path for path, node in enumerate(steps.paths["node"]) if node in places)
    breaks = steps.grouped(lambda path: places[steps.paths["node"][path]], resumed)
    facts = compilations(steps.trace)
    reasons = {row["line"]: row["reason"] for fact in facts for row in fact["graph_breaks"]}
    for (file, line), paths in sorted(breaks.items()):
        calls = sum(map(steps.calls, paths))
        caller = steps.user(steps.paths["parent"][paths[0]])
        broken = caller if caller >= 0 else paths[0]
        time = steps.total(broken)
        function = _RESUME.match(steps.name(paths[0]))
        where = steps.where(paths[0])
        where.line = line
        outside = ("aten::item", "aten::is_nonzero", "aten::nonzero")  # of compiled regions, because of the break
        steps.claim(row for row in steps.children[broken] if steps.key(row) in outside)
        reason = reasons.get(line, "")
        yield steps.finding(
            f"{function[1] if function else broken} is compiled as separate graphs",
            where,
            _GUESS * time,
            f"the graph breaks at {file}:{line}, {counted(calls, 'time')} per step; the function is"
            f" {percent(time / steps.step) if steps.step else 'a part'} of a step ({seconds(time)})"
            + (f"; reason: {reason}" if reason else ""),
            "remove the statement (print, .item(), calls of other libraries) or move it out of the compiled function;"
            " see torch._dynamo.explain",
            severity="warning",
            evidence={"breaks_per_step": round(calls, 2), "ns_of_function": round(time), "reason": reason},
        )
