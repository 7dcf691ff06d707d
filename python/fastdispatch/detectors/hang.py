"""``hang``: a rank ended or stands in a call that does not return, while others wait for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from fastdispatch.detectors import limits
from fastdispatch.detectors.measured_steps import MeasuredSteps
from fastdispatch.detectors.model import Finding, Where
from fastdispatch.read.collectives import GroupCalls, compared_groups, differences, operator_differences
from fastdispatch.read.trace import Trace
from fastdispatch.text.formats import seconds, spans

ID = "hang"

ADVICE = "fastdispatch stacks prints the stacks of all ranks; look at the rank that is not in the collective first"


def find(steps: MeasuredSteps) -> Iterator[Finding]:
    """Look at ranks without a normal end: also those without any step."""
    steps = steps.whole
    stuck = [rank for rank in steps.trace.ranks if rank["state"] != "stopped" and rank["open"]["context"]]
    stacks = {rank["rank"]: _stack(steps, rank) for rank in stuck}
    waiting = [number for number, stack in stacks.items() if any(map(_is_communication, _keys(steps, stack)))]
    elsewhere = [number for number in stacks if number not in waiting and stacks[number]]
    old = [rank for rank in stuck if _age(steps, rank) > limits.HANG_STEPS * max(steps.typical, 1)]
    groups = compared_groups([steps.trace]) if waiting else []
    sentences = list(differences(groups)) if groups else list(operator_differences([steps.trace])) if waiting else []
    minority = next(filter(None, map(_minority, groups)), [])
    if waiting and elsewhere:
        many = len(waiting) > 1
        proof = f"rank{'s' * many} {spans(sorted(waiting))} wait{'s' * (not many)} for it in a collective"
        yield _finding(steps, stacks, elsewhere, "; ".join([proof, *sentences]), waiting, sentences)
    elif waiting and minority and all(number in stacks for number in minority):
        others = [number for number in waiting if number not in minority]
        yield _finding(steps, stacks, minority, "; ".join(sentences), others, sentences)
    elif old and steps.typical:
        number = old[0]["rank"]
        age = _age(steps, old[0])
        proof = (
            f"its last step ended {seconds(age)} before the end of the recording, a step takes {seconds(steps.typical)}"
        )
        yield _finding(steps, stacks, [number], "; ".join([proof, *sentences]), [], sentences)


def _minority(group: GroupCalls) -> list[int]:
    """Return the ranks that call another operator than most, in the first collective in which ranks differ."""
    if not group.comparable():
        return []
    for _, calls in sorted(group.calls.items()):
        kinds = Counter(call.signature for call in calls.values())
        if len(kinds) > 1:
            usual = kinds.most_common(1)[0][0]
            return [rank for rank, call in calls.items() if call.signature != usual]
    return []


def _finding(
    steps: MeasuredSteps,
    stacks: dict[int, list[int]],
    ranks: list[int],
    proof: str,
    waiting: list[int],
    sentences: list[str],
) -> Finding:
    stack = stacks[ranks[0]]
    path = stack[-1]
    user = next((row for row in reversed(stack) if steps.is_user(row)), path)
    node = steps.paths["node"][user]
    where = Where(
        steps.keys[node], steps.trace.nodes["file"][node], steps.trace.nodes["line"][node], _keys(steps, stack)
    )
    found = steps.finding(
        ID,
        f"rank {spans(sorted(ranks))} stopped in {steps.key(path)}",
        where,
        0.0,
        proof,
        ADVICE,
        severity="critical",
        ranks=sorted(ranks),
        evidence={"waiting": sorted(waiting), "stack": _keys(steps, stack), "collectives": sentences},
    )
    found.share, found.gain_ns = 1.0, max(round(_age(steps, _rank(steps.trace, ranks[0]))), steps.typical)
    return found


def _rank(trace: Trace, number: int) -> dict[str, Any]:
    return next(rank for rank in trace.ranks if rank["rank"] == number)


def _stack(steps: MeasuredSteps, rank: dict[str, Any]) -> list[int]:
    """Return the open calls of the main thread, outermost first."""
    calls = rank["open"]
    main = [row for row, role in enumerate(rank["threads"]["role"]) if role == steps.trace.main_role]
    return [
        path for thread, path in zip(calls["thread"], calls["context"], strict=True) if thread in main and path >= 0
    ]


def _keys(steps: MeasuredSteps, stack: list[int]) -> list[str]:
    return [steps.key(path) for path in stack]


def _is_communication(key: str) -> bool:
    return key.startswith(("c10d::", "torch/distributed/", "torch.distributed.ddp"))


def _age(steps: MeasuredSteps, rank: dict[str, Any]) -> float:
    """Return the time from the end of the last step to the latest event of the main thread, ns."""
    ends = rank["latest_steps"]["end"]
    calls = rank["open"]
    main = [row for row, role in enumerate(rank["threads"]["role"]) if role == steps.trace.main_role]
    ages = [age for thread, age in zip(calls["thread"], calls["age"], strict=True) if thread in main]
    return float(max(ages, default=0) - max(ends)) if ends else 0.0
