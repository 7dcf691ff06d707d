"""Comparisons as text, and as Markdown for the summary of a CI job or a comment."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from fastdispatch.compare.gate import Budget, ExceededLimit, noise, per
from fastdispatch.text.formats import aligned, counted, grouped, in_flop, seconds, size

if TYPE_CHECKING:
    from fastdispatch.compare.diff import Diff, DiffCall, DiffRow


def lines(diff: Diff, *, top: int | None) -> Iterator[str]:
    """Yield the verdict, changes by their effect on the step, then the number of omitted ones."""
    yield diff.verdict.text
    yield from head(diff)
    calls, rows = diff.changed_calls(), diff.changed()
    shown_by_call = {call.callee.key for call in calls[:top]}
    rows = [row for row in rows if row.key not in shown_by_call or row.changes & {"slower", "faster"}]
    shown = [(diff.effect(call), call_cells(diff, call)) for call in calls[:top]]
    shown += [(diff.effect(row), row_cells(diff, row)) for row in rows[:top]]
    shown.sort(key=lambda change: -change[0])
    yield from aligned((cells for _, cells in shown), indent=" ")
    yield from measured_lines(diff, top)
    hidden = len(calls) + len(rows) - len(calls[:top]) - len(rows[:top])
    more = f"; {grouped(hidden)} more changes (--all)" if hidden else ""
    same = len(diff.rows) - len(diff.changed())
    apart = ", apart from the speed of the machine" if diff.machine_differs else ""
    yield f"{grouped(same)} of {grouped(len(diff.rows))} {WHAT[diff.by]} are unchanged{apart}{more}"
    if diff.collections:
        yield f"garbage collections (not compared): {', '.join(collection_text(diff, row) for row in diff.collections)}"


def measured_lines(diff: Diff, top: int | None) -> Iterator[str]:
    """Yield each changed figure of the measures, and the functions with the largest changes of it."""
    for each in diff.measured.shown:
        form = FORMS.get(each.figure, in_size)
        yield f"{each.name}{'' if each.figure == 'peak' else per(diff)}: {form(each.before)} -> {form(each.after)}"
        cells = [
            (f"{sign(path.change)} {form(abs(path.change))}", f"{path.key}   {form(path.before)} -> {form(path.after)}")
            for path in each.paths[:top]
        ]
        yield from aligned(cells, indent=" ")
        if len(each.paths) > len(each.paths[:top]):
            yield f" {grouped(len(each.paths) - len(each.paths[:top]))} more functions (--all)"
    yield from diff.measured.missing


def in_size(number: float) -> str:
    return size(round(number))


#: How figures are printed that are not bytes.
FORMS: dict[str, Callable[[float], str]] = {"flops": in_flop, "gpu": seconds}

#: A larger growth is printed as a time, in multiples of the time before.
_MOST_GROWTH = 10

WHAT = {"node": "functions and operators", "module": "modules", "package": "packages"}


def head(diff: Diff) -> Iterator[str]:
    before, after = diff.sides
    unit = "per step" if diff.by_step else "in total"
    growth = f" ({after.whole / before.whole - 1:+.1%})" if before.whole else ""
    for side in diff.sides:
        rank = f"rank {side.rank}" if side.rank is not None else counted(side.ranks, "rank")
        steps = f"{side.window or f'{side.steps} steps'}, " if diff.by_step else ""
        yield f"{side.name}: {steps}{rank}, {seconds(side.whole)} {unit}" + (growth if side is after else "")
    if str(diff.scripts):
        yield str(diff.scripts)
    if not diff.by_step:
        yield "one recording has no steps: whole runs are compared, without spread"
    if diff.machine_differs:
        times = f"{diff.speed:.2f} times as long; changes below exclude this"
        what = "speed of the machine: all times are"
        if any(diff.queue):
            what = "equal work, with the time without a core, takes"
        yield f"{what} {times}"


def sign(change: float) -> str:
    return "+" if change > 0 else "-"


def call_cells(diff: Diff, call: DiffCall) -> tuple[str, str]:
    count = f"{sign(call.calls.change)} {abs(call.calls.change):.4g} calls{per(diff)}"
    word = "  (new)" if "new" in call.changes else "  (gone)" if "gone" in call.changes else ""
    effect = diff.effect(call)
    word += f"   {sign(call.calls.change)} {seconds(effect)}{per(diff)}" if effect else ""
    return count, f"{call.caller.key if call.caller else '<outside>'} -> {call.callee.key}{word}"


def row_cells(diff: Diff, row: DiffRow) -> tuple[str, str]:
    time = diff.time(row)
    of = "total" if diff.by == "module" else "self"
    if "new" in row.changes or "gone" in row.changes:
        what = f"{sign(time.change)} {'new' if 'new' in row.changes else 'gone'}"
        calls = row.calls.after or row.calls.before
        total = "" if diff.by == "module" else f", {seconds(diff.effect(row))} total"
        return what, f"{row.key}   {calls:.4g} calls{per(diff)}{total}, {seconds(abs(time.change))} {of}{on_gpu(row)}"
    # A function that is open during all steps has no call in them: without time before, there is no percentage.
    is_share = time.before > 0 and abs(time.change) <= _MOST_GROWTH * time.before
    size = f"{abs(time.change) / time.before:.0%}" if is_share else seconds(abs(time.change))
    growth = f"{sign(time.change)} {size} {of}"
    spread = max(row.spread.before * diff.speed, row.spread.after)
    between = f"{seconds(time.before)} -> {seconds(time.after)}{per(diff)}"
    return growth, f"{row.key}   {between}, spread {seconds(spread)}{on_gpu(row)}"


def on_gpu(row: DiffRow) -> str:
    """Return the GPU time of a row with all below it."""
    before, after = row.gpu.before, row.gpu.after
    return f", GPU {seconds(before)} -> {seconds(after)}" if before or after else ""


def collection_text(diff: Diff, row: DiffRow) -> str:
    calls = f"{row.calls.before:.4g} -> {row.calls.after:.4g} calls{per(diff)}"
    return f"{row.key} {calls}, {seconds(row.total.before)} -> {seconds(row.total.after)}{per(diff)}"


def gate_lines(budget: Budget, broken: list[ExceededLimit]) -> Iterator[str]:
    for one in broken:
        yield f" ! {one.text}   {budget.path}:{one.line}"
    yield f"gate: {exceeded(broken)}" if broken else "gate: passed"


def exceeded(broken: list[ExceededLimit]) -> str:
    return f"{counted(len(broken), 'limit')} exceeded"


def markdown(diff: Diff, budget: Budget | None, broken: list[ExceededLimit], *, top: int | None) -> Iterator[str]:
    """Yield, as Markdown, the result of the gate, exceeded limits, the verdict and the changes by their effect."""
    title = "comparison" if budget is None else exceeded(broken) if broken else "gate passed"
    yield from (f"### fastdispatch: {title}", "")
    if budget is not None and broken:
        yield from ("| limit | exceeded by |", "|---|---|")
        yield from (f"| {_code(f'{budget.path}:{one.line}')} | {_code(one.text)} |" for one in broken)
        yield ""
    if budget is not None and budget.has_times:
        share = noise(diff)
        if share is None:
            yield "Noise of the step unknown: fewer than 4 measured steps on one side."
        else:
            yield f"Noise of the step: {share:.1%} (standard error of the median). Limits of calls have no noise."
        yield ""
    verdict, *changes = lines(diff, top=top)
    yield from (verdict, "", "```text", *changes, "```")


def _code(text: str) -> str:
    """Return a code span for a cell of a table."""
    escaped = text.replace("`", "'").replace("|", "\\|")
    return f"`{escaped}`"
