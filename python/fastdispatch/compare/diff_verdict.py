"""The first sentence of a comparison: how the time of a step changed, and below which function."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from statistics import median
from typing import TYPE_CHECKING, Any

from fastdispatch.read.plumbing import plumbing
from fastdispatch.read.waiting import mean_work
from fastdispatch.text.formats import seconds

if TYPE_CHECKING:
    from fastdispatch.compare.diff import Diff, DiffCall, DiffRow
    from fastdispatch.compare.diff_measured import MeasuredChange

#: Changes of rows and calls. The last two are kinds of rows: garbage collections are not compared.
CHANGES = ("new", "gone", "calls", "slower", "faster", "collection", "communication")

#: Figures of rows: calls with resumes of generators, times in ns; gpu: of the steps with GPU times; spread: standard
#: deviation over steps of the compared time.
FIGURES = ("calls", "self", "total", "backward", "async", "gpu", "spread")

#: The named function has this share of the change of its callers at least: one deeper in the tree would explain less.
_MOST = 0.8

#: A change of less than this share of a step is not explained, nor one of equal calls that is less than this share of
#: the time without a core, which also makes the calls around it longer.
_LEAST, _LEAST_BUSY = 0.01, 0.1

#: Ranks wait for each other: a change of waits by less than this many times the change of their work follows from that.
_WORK_OF_WAITS = 3

#: The change of a rank differs from that of the others by this share at least.
_MOST_OF_RANK = 0.5

#: Runs of more ranks are read as a sum of ranks.
_MOST_RANKS = 16

#: Named parts, and a rest, of less than these shares of the change are not printed.
_NAMED, _REST = 0.1, 0.01


#: Ends of keys of comprehensions.
_PARTS = (":<listcomp>", ":<dictcomp>", ":<setcomp>", ":<genexpr>")


@dataclass(frozen=True)
class DiffVerdict:
    """How the time of a step (of the whole run without steps) changed, ns; ``mean``: of the mean step, because that of
    the median does not have the change: a lock is free in some steps. ``below``: the key of the function whose
    calls, with all below them, changed by ``part``; None if no single function explains the change. ``rank``: the rank
    in which they did, if the others did not change. ``backward``: ``part`` has the change of the autograd time that
    these calls caused. ``because``: its most expensive new or more frequent calls. ``machine``: the part of the change
    that the speed of the machine explains, ``without_core`` that in which threads could run but had no CPU,
    ``communication`` that of collectives, transfers and waits for other ranks, ``rest`` that of everything else."""

    text: str
    changed: bool
    mean: bool
    rank: int | None
    below: str | None
    backward: bool
    part: float
    because: list[str]
    machine: float
    without_core: float
    communication: float
    rest: float
    before: float
    after: float

    def as_json(self) -> dict[str, Any]:
        *figures, _, _ = fields(self)
        return {each.name: getattr(self, each.name) for each in figures} | {"step": [self.before, self.after]}


@dataclass(frozen=True)
class _Cause:
    """The function that explains a change, by how much below it and in the backward of its calls, and its changed
    calls."""

    row: DiffRow
    forward: float
    backward: float
    because: list[str]

    @property
    def part(self) -> float:
        return self.forward + self.backward


def verdict(diff: Diff) -> DiffVerdict:
    found = bool(diff.changed() or diff.changed_calls())
    before, after = (side.whole for side in diff.sides)
    rank = _changed_rank(diff) if found else None
    of = diff if rank is None else diff.of_rank(rank)
    (work, waits), now = (mean_work(times, side.rank) for times, side in zip(of.rank_work, of.sides, strict=True))
    machine, communication = (of.cpu[0] or work) * (of.cpu_speed - 1), now[1] - waits
    queue = of.queue[1] - of.queue[0]
    least = _LEAST * max(work - of.queue[0], now[0] - of.queue[1])
    if not diff.changed_calls():
        least = max(least, _LEAST_BUSY * max(of.queue))
    cause = _cause(of, least) if found else None
    part = 0.0 if cause is None else cause.part
    waited = abs(communication) > _WORK_OF_WAITS * abs(now[0] - work)
    changed = found and (diff.by != "node" or cause is not None or _has_changes(of, least, waited))
    largest = max(map(abs, (part, machine, queue, communication))) if changed else 0.0
    means = [side.mean for side in diff.sides]
    mean = abs(means[1] - means[0] - (after - before)) > _NAMED * largest > 0
    before, after = means if mean else (before, after)
    where: tuple[int | None, str | None, bool, float, list[str]] = (None, None, False, 0.0, [])
    if cause is not None:
        where = rank, cause.row.key, cause.backward != 0, part, cause.because
    rest = after - before - machine - queue - communication - part
    made = DiffVerdict("", changed, mean, *where, machine, queue, communication, rest, before, after)
    measured = "".join(f"; {each.name} {_growth(diff, each)}" for each in diff.measured.shown)
    return replace(made, text=_text(of, made, cause) + measured)


def _has_changes(diff: Diff, least: float, waited: bool) -> bool:
    """Return whether changes of operators or libraries, or of communication if ``waited``, have a part in the change of
    a step."""
    own = [row.explained["own"] for row in diff.rows]
    communicate = any("communication" in row.changes and row.changes & {"slower", "faster"} for row in diff.rows)
    return (waited and communicate) or max(map(abs, (sum(own), *own)), default=0.0) >= max(least, 1.0)


def _changed_rank(diff: Diff) -> int | None:
    """Return the rank in which the function that explains the change changed, while it did not in the others. None:
    all ranks are alike."""
    common = sorted(diff.rank_work[0].keys() & diff.rank_work[1].keys())
    alone = any(side.rank is not None for side in diff.sides)
    cause = None if alone or not 2 <= len(common) <= _MOST_RANKS else _cause(diff, 0.0)
    if cause is None:
        return None
    names = [name for name, part in (("below", cause.forward), ("backward", cause.backward)) if part]
    changes = dict.fromkeys(common, 0.0)
    for rank in common:
        rows = (row for row in diff.of_rank(rank).rows if row.key == cause.row.key)
        changes[rank] = sum(row.explained[name] for row in rows for name in names)
    rank = max(common, key=lambda each: abs(changes[each]))
    others = median(time for each, time in changes.items() if each != rank)
    return rank if abs(changes[rank] - others) >= _MOST_OF_RANK * abs(changes[rank]) > 0 else None


def _growth(diff: Diff, change: MeasuredChange) -> str:
    """Return the growth in percent; of figures whose sum is the same that their places changed. Return GPU times, and
    the function with most of their change."""
    if change.figure == "gpu":
        total, paths = change.after - change.before, change.paths
        text = f"{seconds(change.before)} -> {seconds(change.after)}"
        largest = paths and paths[0].change * total > 0 and abs(paths[0].change) >= abs(total) / 2
        return text + (f", {_signed(paths[0].change)} in {_place(diff, paths[0].key)}" if largest else "")
    if change.before == change.after:
        return "moved"
    return f"{change.after / change.before - 1:+.1%}" if change.before else "are new"


def _text(diff: Diff, made: DiffVerdict, cause: _Cause | None) -> str:
    unit = "whole run" if not diff.by_step else "mean step" if made.mean else "step"
    change = made.after - made.before
    text = f"{unit} {seconds(made.before)} -> {seconds(made.after)}"
    if not made.changed:
        what = "no change" if diff.by == "node" else f"no change of a {diff.by}"
        what += " of the time" if diff.by == "node" and (diff.changed() or diff.changed_calls()) else ""
        return f"{text}: {what} beyond {_conditions(diff, made)}"
    parts = list(_parts(diff, made, cause))
    return f"{text}, {_signed(change)}" + (f": {', '.join(parts)}" if parts else "")


def _conditions(diff: Diff, made: DiffVerdict) -> str:
    """Return what makes the times of equal work differ."""
    found = [f"the speed of the machine ({diff.speed:.2f} times as long)"] if diff.machine_differs else []
    if abs(made.without_core) >= _NAMED * max(made.before, made.after):
        found += [f"the time without a core ({' -> '.join(map(seconds, diff.queue))})"]
    return " and ".join(filter(None, [", ".join(["noise", *found[:-1]]), *found[-1:]]))


def _parts(diff: Diff, made: DiffVerdict, cause: _Cause | None) -> Iterator[str]:
    """Yield the parts of a change, which add up to it; none if they do not explain it."""
    change = made.after - made.before
    parts = [
        (made.communication, "in communication and waits for other ranks"),
        (made.machine, "by the speed of the machine"),
        (made.without_core, "without a core"),
    ]
    if cause is None and not (change and any(part / change >= 0.5 for part, _ in parts)):
        return
    if cause is not None:
        rank = f"rank {made.rank} became {'slow' if made.part > 0 else 'fast'}: " if made.rank is not None else ""
        reasons = f" ({'; '.join(made.because)})" if made.because else ""
        place = _place(diff, cause.row.key)
        later = " and in its backward" if cause.forward and cause.backward else ""
        yield f"{rank}{_signed(made.part)} {_preposition(cause)} {place}{later}{reasons}"
    named = [(part, name) for part, name in parts if abs(part) >= _NAMED * abs(change)]
    yield from (f"{_signed(part)} {name}" for part, name in named)
    rest = made.rest + sum(part for part, _ in parts) - sum(part for part, _ in named)
    if abs(rest) >= _REST * abs(change):
        yield f"{_signed(rest)} elsewhere"


def _preposition(cause: _Cause) -> str:
    if not cause.forward:
        return "in the backward of"
    own = cause.row.explained["own"]
    return "in" if not cause.because and abs(own) >= _MOST * abs(cause.part) else "below"


def _signed(time: float) -> str:
    return f"{'-' if time < 0 else '+'}{seconds(abs(time))}"


def _line(diff: Diff, key: str) -> int:
    """Return the line of a function, in the later run if it has it; 0: unknown."""
    for trace in reversed(diff.traces):
        for found, line in zip(trace.nodes["key"], trace.nodes["line"], strict=True):
            if found.partition("@")[0] == key:
                return int(line)
    return 0


def _place(diff: Diff, key: str) -> str:
    return _short(key, _line(diff, key))


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


def _cause(diff: Diff, least: float) -> _Cause | None:
    """Return the innermost function of the program that explains most of what changed calls and times explain; None if
    none explains ``least``."""
    own = diff.own_keys()
    rows = [row for row in diff.rows if row.kind == "python" and row.key in own and not _is_part(row) and row.explained]
    rows = [row for row in rows if not row.changes & {"new", "gone"}] or rows
    largest = max((row.explained["below"] for row in rows), key=abs, default=0.0)
    if abs(largest) < least or not largest:
        return None
    depth = _depths(diff)  # functions that never return have the time of the whole step

    def order(row: DiffRow) -> tuple[float, int, str]:
        return max(row.total.before, row.total.after), -depth.get(row.key, 0), row.key

    parts = {row.key: _parts_of(row, largest) for row in rows}
    row = min((row for row in rows if any(parts[row.key])), key=order)
    forward, backward = parts[row.key]
    because = [_edge(call) for call in _reasons(diff, row, largest)[:2]]
    return _Cause(row, forward, backward, because)


def _parts_of(row: DiffRow, largest: float) -> tuple[float, float]:
    """Return the changes below a function and in the backward of its calls that are most of the largest change of a
    function; 0, 0: they are not."""
    below, backward = row.explained["below"], row.explained["backward"]
    for forward, later in ((below, 0.0), (0.0, backward), (below, backward)):
        if _MOST <= (forward + later) / largest <= 1 + _REST:
            return forward, later
    return 0.0, 0.0


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
    named = [(trace.nodes["key"], plumbing(trace.nodes)) for trace in diff.traces]
    passing = {key for keys, only in named for key, passes in zip(keys, only, strict=True) if passes}
    found = [call for call in found if call.callee.key not in passing] or found
    return sorted(found, key=lambda call: (-diff.effect(call), call.callee.key))
