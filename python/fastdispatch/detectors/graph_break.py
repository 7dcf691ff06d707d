"""``graph-break``: torch.compile splits a function into several graphs."""

from __future__ import annotations

import re
from collections.abc import Iterator

from fastdispatch.detectors.measured_steps import MeasuredSteps, counted
from fastdispatch.detectors.model import Finding
from fastdispatch.read.compilations import compilations
from fastdispatch.text.formats import percent, seconds

ID = "graph-break"

#: Name of the function that Dynamo makes for the rest after a break.
_RESUME = re.compile(r"torch_dynamo_resume_in_(.+)_at_(\d+)$")

#: Share of the time of the broken function that one graph may save; an estimate, since it cannot be measured.
_GUESS = 0.05

ADVICE = (
    "remove the statement (print, .item(), calls of other libraries) or move it out of the compiled function; see"
    " torch._dynamo.explain"
)


def find(steps: MeasuredSteps) -> Iterator[Finding]:
    breaks: dict[tuple[str, int], list[int]] = {}
    for path, node in enumerate(steps.paths["node"]):
        found = _RESUME.match(steps.trace.nodes["name"][node])
        if found:
            breaks.setdefault((steps.trace.nodes["file"][node], int(found[2])), []).append(path)
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
        _claim_reason(steps, broken)
        reason = reasons.get(line, "")
        yield steps.finding(
            ID,
            f"{function[1] if function else broken} is compiled as separate graphs",
            where,
            _GUESS * time,
            f"the graph breaks at {file}:{line}, {counted(calls, 'time')} per step; the function is"
            f" {percent(time / steps.step) if steps.step else 'a part'} of a step ({seconds(time)})"
            + (f"; reason: {reason}" if reason else ""),
            ADVICE,
            severity="warning",
            evidence={"breaks_per_step": round(calls, 2), "ns_of_function": round(time), "reason": reason},
        )


def _claim_reason(steps: MeasuredSteps, broken: int) -> None:
    """Claim the operators outside of the compiled regions: they run there because of the break."""
    steps.claim(
        row for row in steps.children[broken] if steps.key(row) in ("aten::item", "aten::is_nonzero", "aten::nonzero")
    )
