"""The first sentence of a comparison: how the time of a step changed, and below which function."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fastdispatch.read.plumbing import plumbing
from fastdispatch.text.formats import seconds

if TYPE_CHECKING:
    from fastdispatch.compare.diff import Diff, DiffCall, DiffRow, Pair
    from fastdispatch.compare.diff_measured import MeasuredChange

#: The named function has this share of the change of its callers at least: one deeper in the tree would explain less.
_MOST = 0.8

#: A change of less than this share of a step is not explained.
_LEAST = 0.01


#: Ends of keys of comprehensions.
_PARTS = (":<listcomp>", ":<dictcomp>", ":<setcomp>", ":<genexpr>")


@dataclass(frozen=True)
class DiffVerdict:
    """How the time of a step (of the whole run without steps) changed, ns. ``machine``: the part of the change that the
    speed of the machine explains. ``below``: the key of the function whose calls, with all below them, changed by
    ``part``; None if no single function explains the change. ``backward``: ``part`` is the change of the autograd time
    that these calls caused. ``because``: its most expensive new or more frequent calls."""

    changed: bool
    before: float
    after: float
    machine: float
    below: str | None
    backward: bool
    part: float
    because: list[str]
    text: str

    def as_json(self) -> dict[str, Any]:
        return {
            "text": self.text,
            "changed": self.changed,
            "step": [self.before, self.after],
            "machine": self.machine,
            "below": self.below,
            "backward": self.backward,
            "part": self.part,
            "because": self.because,
        }


def verdict(diff: Diff) -> DiffVerdict:
    before, after = (side.whole for side in diff.sides)
    change = after - before
    machine = before * (diff.speed - 1)
    changed = bool(diff.changed() or diff.changed_calls())
    row = _cause(diff, change - machine) if changed else None
    part = _growth_of(diff, row.total) if row is not None else 0.0
    origin = _origin(diff, row, part) if row is not None else None
    if origin is not None:
        row, part = origin, _growth_of(diff, origin.backward)
    because = [_edge(call) for call in _reasons(diff, row, part)[:2]] if row is not None else []
    key = row.key if row is not None else None
    made = DiffVerdict(changed, before, after, machine, key, origin is not None, part, because, "")
    measured = "".join(f"; {each.name} {_growth(each)}" for each in diff.measured.changes)
    return DiffVerdict(**{**vars(made), "text": _text(diff, made) + measured})


def _growth(change: MeasuredChange) -> str:
    """Return the growth in percent; of figures whose sum is the same that their places changed."""
    if change.before == change.after:
        return "moved"
    return f"{change.after / change.before - 1:+.1%}" if change.before else "are new"


def _text(diff: Diff, made: DiffVerdict) -> str:
    unit = "step" if diff.by_step else "whole run"
    change = made.after - made.before
    text = f"{unit} {seconds(made.before)} -> {seconds(made.after)}"
    if not made.changed:
        machine = f" and the speed of the machine ({diff.speed:.2f} times as long)" if diff.machine_differs else ""
        what = "no change" if diff.by == "node" else f"no change of a {diff.by}"
        return f"{text}: {what} beyond noise{machine}"
    text += f", {_signed(change)}"
    parts = []
    if diff.machine_differs:
        parts.append(f"{_signed(made.machine)} by the speed of the machine")
    if made.below is not None:
        reasons = f" ({'; '.join(made.because)})" if made.because else ""
        place = "in the backward of" if made.backward else "below"
        parts.append(f"{_signed(made.part)} {place} {_short(made.below, _line(diff, made.below))}{reasons}")
    return f"{text}: {', '.join(parts)}" if parts else text


def _signed(time: float) -> str:
    return f"{'-' if time < 0 else '+'}{seconds(abs(time))}"


def _line(diff: Diff, key: str) -> int:
    """Return the line of a function, in the later run if it has it; 0: unknown."""
    for trace in reversed(diff.traces):
        for found, line in zip(trace.nodes["key"], trace.nodes["line"], strict=True):
            if found.partition("@")[0] == key:
                return int(line)
    return 0


def _short(key: str, line: int = 0) -> str:
    """Return ``Attention.forward (model.py:39)`` for ``model.py:[Attention]:forward``; without a line if it is 0."""
    file, found, rest = key.partition(":[")
    if not found:
        return key
    owner, _, name = rest.partition("]:")
    return f"{f'{owner}.' if owner else ''}{name} ({file}{f':{line}' if line else ''})"


def _edge(call: DiffCall) -> str:
    word = "new" if "new" in call.changes else "gone" if "gone" in call.changes else f"{call.calls.change:+.4g} calls"
    return f"{_short(call.callee.key)} {'is' if word in ('new', 'gone') else 'has'} {word}"


def _cause(diff: Diff, change: float) -> DiffRow | None:
    """Return the innermost function of the program that explains most of the change: among those with most of the
    largest change the one that takes the shortest time."""
    step = max(abs(side.whole) for side in diff.sides)
    if diff.by != "node" or abs(change) < _LEAST * step:
        return None
    return _innermost(diff, "total", change, abs(change) / 2)


def _origin(diff: Diff, row: DiffRow, part: float) -> DiffRow | None:
    """Return the innermost function whose forward calls caused most of the change ``part`` of ``row``, if it is a
    change of autograd time."""
    return _innermost(diff, "backward", part, _MOST * abs(part)) if abs(row.backward.change) > 0 else None


def _innermost(diff: Diff, figure: str, change: float, minimum: float) -> DiffRow | None:
    """Return the function of the program with the shortest time among those with most of the largest change of
    ``figure`` in the direction of ``change``; None if the largest change is below ``minimum``."""
    own = diff.own_keys()
    rows = [row for row in diff.rows if row.kind == "python" and row.key in own and not _is_part(row)]
    growth = [(row, _growth_of(diff, getattr(row, figure))) for row in rows]
    same = [(row, time) for row, time in growth if (time > 0) == (change > 0)]
    largest = max((abs(time) for _, time in same), default=0.0)
    if largest < minimum or largest == 0:
        return None
    close = [row for row, time in same if abs(time) >= _MOST * largest]
    depth = _depths(diff)  # functions that never return have the time of the whole step

    def order(row: DiffRow) -> tuple[float, int, str]:
        time: Pair = getattr(row, figure)
        return max(time.before, time.after), -depth.get(row.key, 0), row.key

    return min(close, key=order)


def _growth_of(diff: Diff, pair: Pair) -> float:
    """Return the change without that by the speed of the machine."""
    return pair.after - pair.before * diff.speed


def _depths(diff: Diff) -> dict[str, int]:
    """Return the place of functions in their call tree, callees after their callers."""
    found: dict[str, int] = {}
    for trace in diff.traces:
        for row, node in enumerate(trace.contexts["node"]):
            found.setdefault(trace.nodes["key"][node].partition("@")[0], row)
    return found


def _is_part(row: DiffRow) -> bool:
    """Whether a function is a comprehension or generator expression, a part of the function around it."""
    return row.key.endswith(_PARTS)


def _reasons(diff: Diff, row: DiffRow, part: float) -> list[DiffCall]:
    """Return changed calls that the function makes itself or in a comprehension, the most expensive first. Functions
    that only pass a call on are named if there are no others."""
    sign = 1 if part > 0 else -1
    callers = [row, *(call.callee for call in diff.calls if call.caller is row and _is_part(call.callee))]
    found = [
        call
        for call in diff.calls
        if "calls" in call.changes
        and call.calls.change * sign > 0
        and not _is_part(call.callee)
        and call.callee is not row
        and any(call.caller is each for each in callers)
    ]
    passing = {
        key
        for trace in diff.traces
        for key, only in zip(trace.nodes["key"], plumbing(trace.nodes), strict=True)
        if only
    }
    found = [call for call in found if call.callee.key not in passing] or found
    return sorted(found, key=lambda call: (-diff.effect(call), call.callee.key))
