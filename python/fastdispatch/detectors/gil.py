"""``gil``: other threads run Python while the main thread waits for the interpreter."""

from __future__ import annotations

from collections.abc import Iterator

from fastdispatch.detectors import limits
from fastdispatch.detectors.measured_steps import MeasuredSteps
from fastdispatch.detectors.model import Finding, NotDecided
from fastdispatch.text.formats import percent, seconds

ID = "gil"

ADVICE = "move the work of the thread to a process, or to code that releases the GIL"


def find(steps: MeasuredSteps) -> Iterator[Finding | NotDecided]:
    roots = [row for row, parent in enumerate(steps.paths["parent"]) if parent < 0 and not steps.main[row]]
    python = {row: _python(steps, row) for row in roots if _users(steps, row)}
    heaviest = max(python, key=lambda row: python[row], default=-1)
    if heaviest < 0 or python[heaviest] < limits.GIL_SHARE * steps.step:
        return
    busy, late = _cpu(steps)
    if busy is None or late is None:
        yield NotDecided(ID, "the CPU time of threads was not recorded")
        return
    time = min(sum(python.values()), busy, late)
    if time < limits.GIL_SHARE * steps.step:
        return
    user = max(_users(steps, heaviest), key=steps.total)
    steps.claimed.update(row for row, main in enumerate(steps.main) if main and steps.is_python(row))  # they wait
    yield steps.finding(
        ID,
        f"thread {steps.key(heaviest)} runs Python while the main thread waits",
        steps.where(user),
        time,
        f"{seconds(python[heaviest])} per step in its Python functions, {seconds(busy)} of CPU time; the main thread"
        f" was off the CPU for {seconds(late)} or {percent(late / steps.step)} of a step",
        ADVICE,
        evidence={"python_ns": round(python[heaviest]), "cpu_ns": round(busy), "main_off_cpu_ns": round(late)},
    )


def _users(steps: MeasuredSteps, root: int) -> list[int]:
    """Return the functions of the program in a thread: threads of libraries alone cannot be moved."""
    return [row for row in range(root, steps.end[root]) if steps.is_user(row)]


def _python(steps: MeasuredSteps, root: int) -> float:
    """Return the own time of Python functions of a thread."""
    return sum(steps.own(row) for row in range(root, steps.end[root]) if steps.is_python(row))


def _cpu(steps: MeasuredSteps) -> tuple[float | None, float | None]:
    """Return per step the CPU time of other threads, and how long main threads were not on the CPU."""
    busy = late = 0.0
    for rank in steps.ranks:
        threads = rank["threads"]
        if not any(threads.get("cpu", ())):
            return None, None
        for role, cpu, covered in zip(threads["role"], threads["cpu"], threads["covered"], strict=True):
            if role == steps.trace.main_role:
                late += max(covered - cpu, 0)
            else:
                busy += cpu
    return busy / max(steps.count, 1), late / max(steps.count, 1)
