"""``gc-pause``: garbage collections interrupt the step."""

from __future__ import annotations

import re
from collections.abc import Iterator

from fastdispatch.detectors import limits
from fastdispatch.detectors.measured_steps import MeasuredSteps, number
from fastdispatch.detectors.model import Finding, NotDecided
from fastdispatch.text.formats import percent, seconds

ID = "gc-pause"

_COLLECTION = re.compile(r"gc:gen\d$")

ADVICE = (
    "do not call gc.collect() in the loop; after set-up call gc.freeze() and gc.disable(), then collect every N steps,"
    " at the same step on all ranks"
)


def find(steps: MeasuredSteps) -> Iterator[Finding | NotDecided]:
    if not any("gc" in rank["meta"] for rank in steps.ranks):
        yield NotDecided(ID, "collections were not recorded")
        return
    paths = [row for row in range(len(steps.paths["node"])) if steps.main[row] and _COLLECTION.match(steps.key(row))]
    time = steps.unclaimed(paths)
    if not paths or time < limits.GC_SHARE * steps.step:
        return
    heaviest = max(paths, key=steps.total)
    if sum(steps.paths["steps"][path] for path in paths) < limits.GC_STEPS:
        return
    counts = {steps.key(path): 0.0 for path in paths}
    for path in paths:
        counts[steps.key(path)] += steps.calls(path)
    steps.claim(paths)
    listed = ", ".join(
        f"{number(count) if count >= 0.1 else f'{count:.2g}'} {key}" for key, count in sorted(counts.items())
    )
    objects = sum(sum(rank["meta"]["gc"].get("collected", ())) for rank in steps.ranks if "gc" in rank["meta"])
    yield steps.finding(
        ID,
        f"garbage collections take {percent(time / steps.step)} of a step",
        steps.where(heaviest, "collect"),
        time,
        f"{listed} per step, {seconds(time)}, mostly below {_below(steps, heaviest)}; they freed {objects} objects",
        ADVICE,
        evidence={
            "collections_per_step": {key: round(count, 3) for key, count in counts.items()},
            "ns_per_step": round(time),
            "objects": objects,
        },
    )


def _below(steps: MeasuredSteps, path: int) -> str:
    return steps.key(steps.paths["parent"][path])
