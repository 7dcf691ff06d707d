"""Comparisons as text."""

from __future__ import annotations

from collections.abc import Iterator

from fastdispatch.read.diff import Call, Diff, Row
from fastdispatch.read.gate import Broken, Budget, per
from fastdispatch.read.summary import grouped, seconds


def lines(diff: Diff, *, top: int | None) -> Iterator[str]:
    """Yield changes, worst first, then the number of omitted ones."""
    yield from head(diff)
    calls, rows = diff.changed_calls(), diff.changed()
    for call in calls[:top]:
        yield call_line(diff, call)
    shown_by_call = {call.callee.key for call in calls[:top]}
    rows = [row for row in rows if row.key not in shown_by_call or row.said & {"slower", "faster"}]
    for row in rows[:top]:
        yield row_line(diff, row)
    hidden = len(calls) + len(rows) - len(calls[:top]) - len(rows[:top])
    more = f"; {grouped(hidden)} more changes (--all)" if hidden else ""
    same = len(diff.rows) - len(diff.changed())
    apart = ", apart from the speed of the machine" if machine_differs(diff) else ""
    yield f"{grouped(same)} of {grouped(len(diff.rows))} {WHAT[diff.by]} are unchanged{apart}{more}"


WHAT = {"node": "functions and operators", "module": "modules", "package": "packages"}


def head(diff: Diff) -> Iterator[str]:
    before, after = diff.sides
    unit = "per step" if diff.by_step else "in total"
    growth = f" ({after.whole / before.whole - 1:+.1%})" if before.whole else ""
    for side in diff.sides:
        rank = f"rank {side.rank}" if side.rank is not None else f"{side.ranks} rank{'s' * (side.ranks != 1)}"
        steps = f"{side.steps} steps, " if diff.by_step else ""
        yield f"{side.name}: {steps}{rank}, {seconds(side.whole)} {unit}" + (growth if side is after else "")
    if not diff.by_step:
        yield "one recording has no steps: whole runs are compared, without spread"
    if machine_differs(diff):
        yield f"speed of the machine: all times are {diff.speed:.2f} times as long; changes below exclude this"


def machine_differs(diff: Diff) -> bool:
    return abs(diff.speed - 1) >= 0.02


def sign(change: float) -> str:
    return "+" if change > 0 else "-"


def call_line(diff: Diff, call: Call) -> str:
    count = f"{sign(call.calls.change)} {abs(call.calls.change):.4g} calls{per(diff)}"
    word = "  (new)" if "new" in call.said else "  (gone)" if "gone" in call.said else ""
    return f" {count:<18} {call.caller.key if call.caller else '<outside>'} -> {call.callee.key}{word}"


def row_line(diff: Diff, row: Row) -> str:
    time = diff.time(row)
    of = "total" if diff.by == "module" else "self"
    if "new" in row.said or "gone" in row.said:
        what = f"{sign(time.change)} {'new' if 'new' in row.said else 'gone'}"
        calls = row.calls.after or row.calls.before
        return f" {what:<18} {row.key}   {calls:.4g} calls{per(diff)}, {seconds(abs(time.change))} {of}"
    growth = f"{sign(time.change)} {abs(time.change) / time.before:.0%} {of}"
    spread = max(row.spread.before * diff.speed, row.spread.after)
    between = f"{seconds(time.before)} -> {seconds(time.after)}{per(diff)}"
    return f" {growth:<18} {row.key}   {between}, spread {seconds(spread)}"


def gate_lines(budget: Budget, broken: list[Broken]) -> Iterator[str]:
    for one in broken:
        yield f" ! {one.text}   {budget.path}:{one.line}"
    yield f"gate: {len(broken)} limit{'s' * (len(broken) != 1)} exceeded" if broken else "gate: passed"
