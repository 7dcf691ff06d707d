"""What the interpreter costs: garbage collections, threads that hold its lock, and recording itself."""

import re
from collections.abc import Iterator

from fastdispatch.detectors import limits
from fastdispatch.detectors.measured_steps import MeasuredSteps, number
from fastdispatch.detectors.model import Finding, Where
from fastdispatch.read.columns import rows
from fastdispatch.read.recording_cost import recording_cost
from fastdispatch.text.formats import percent, seconds

_COLLECTION = re.compile(r"gc:gen\d$")


def gc_pause(steps: MeasuredSteps) -> Iterator[Finding | str]:
    """``gc-pause``: garbage collections interrupt the step."""
    if not any("gc" in rank["meta"] for rank in steps.ranks):
        yield "collections were not recorded"
        return
    paths = [row for row in range(len(steps.paths["node"])) if steps.main[row] and _COLLECTION.match(steps.key(row))]
    time = steps.unclaimed(paths)
    if not paths or time < limits.GC_SHARE * steps.step:
        return
    heaviest = max(paths, key=steps.total)
    below = steps.key(steps.paths["parent"][heaviest])
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
        f"garbage collections take {percent(time / steps.step)} of a step",
        steps.where(heaviest, "collect"),
        time,
        f"{listed} per step, {seconds(time)}, mostly below {below}; they freed {objects} objects",
        "do not call gc.collect() in the loop; after set-up call gc.freeze() and gc.disable(), then collect every N"
        " steps, at the same step on all ranks",
        evidence={
            "collections_per_step": {key: round(count, 3) for key, count in counts.items()},
            "ns_per_step": round(time),
            "objects": objects,
        },
    )


def gil(steps: MeasuredSteps) -> Iterator[Finding | str]:
    """``gil``: other threads run Python while the main thread waits for the interpreter."""
    roots = [row for row, parent in enumerate(steps.paths["parent"]) if parent < 0 and not steps.main[row]]
    python = {  # own time of Python functions of threads
        root: sum(steps.own(row) for row in range(root, steps.end[root]) if steps.is_python(row))
        for root in roots
        if _users(steps, root)
    }
    heaviest = max(python, key=lambda row: python[row], default=-1)
    if heaviest < 0 or python[heaviest] < limits.GIL_SHARE * steps.step:
        return
    busy, late = _cpu(steps)
    if busy is None or late is None:
        yield "the CPU time of threads was not recorded"
        return
    time = min(sum(python.values()), busy, late)
    if time < limits.GIL_SHARE * steps.step:
        return
    user = max(_users(steps, heaviest), key=steps.total)
    steps.claimed.update(row for row, main in enumerate(steps.main) if main and steps.is_python(row))  # they wait
    yield steps.finding(
        f"thread {steps.key(heaviest)} runs Python while the main thread waits",
        steps.where(user),
        time,
        f"{seconds(python[heaviest])} per step in its Python functions, {seconds(busy)} of CPU time; the main thread"
        f" was off the CPU for {seconds(late)} or {percent(late / steps.step)} of a step",
        "move the work of the thread to a process, or to code that releases the GIL",
        evidence={"python_ns": round(python[heaviest]), "cpu_ns": round(busy), "main_off_cpu_ns": round(late)},
    )


def _users(steps: MeasuredSteps, root: int) -> list[int]:
    """Return the functions of the program in a thread: threads of libraries alone cannot be moved."""
    return [row for row in range(root, steps.end[root]) if steps.is_user(row)]


def _cpu(steps: MeasuredSteps) -> tuple[float | None, float | None]:
    """Return per step the CPU time of other threads, and how long main threads were not on the CPU."""
    busy = late = 0.0
    for rank in steps.ranks:
        if not any(rank["threads"].get("cpu", ())):
            return None, None
        for role, cpu, covered in rows(rank["threads"], "role cpu covered"):
            if role == steps.trace.main_role:
                late += max(covered - cpu, 0)
            else:
                busy += cpu
    return busy / max(steps.count, 1), late / max(steps.count, 1)


def own_cost(steps: MeasuredSteps) -> Iterator[Finding | str]:
    """``own-cost``: recording takes a noticeable part of the run."""
    cost = recording_cost(steps.ranks)
    if cost.share is None and cost.steps_recorded < cost.steps:
        yield cost.reason
    elif cost.share is not None and cost.steps < limits.OWN_STEPS:
        yield f"fewer than {limits.OWN_STEPS} steps: the first ones are always recorded"
    elif (cost.share or 0) >= limits.OWN_SHARE > (cost.share or 0) - (cost.error or 0):
        yield cost.text
    elif (cost.share or 0) >= limits.OWN_SHARE:
        yield steps.finding(
            f"recording takes {percent(cost.share or 0)} of the run",
            Where("fastdispatch"),
            0,  # the program itself does not get faster
            cost.text,
            "record fewer steps (--budget), fewer calls (--keep) or no operators (--ops off)",
            severity="info",
            share=round(cost.share or 0, 4),
            extent=f"{percent(cost.share or 0)} of the run",
            evidence={"of_recorded_step": round(cost.of_recorded_step or 0, 4), "steps": cost.steps},
        )
