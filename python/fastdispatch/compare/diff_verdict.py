"""The first sentence of a comparison: how the time of a step changed, and below which function."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from statistics import median
from typing import TYPE_CHECKING, Any

from fastdispatch.read.plumbing import plumbing
from fastdispatch.read.waiting import mean_work
from fastdispatch.text.formats import seconds

if TYPE_CHECKING:
    from fastdispatch.compare.diff import Diff, DiffCall, DiffRow, Pair
    from fastdispatch.compare.diff_measured import MeasuredChange

#: The named function has this share of the change of its callers at least: one deeper in the tree would explain less.
_MOST = 0.8

#: A function with this share of a step has its time without a core.
_ALL = 0.9

#: A change of less than this share of a step is not explained.
_LEAST = 0.01

#: A rank differs from the others by this share of the change of the step at least.
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
    in which they did, if the others did not change. ``backward``: ``part`` is the change of the autograd time that
    these calls caused. ``because``: its most expensive new or more frequent calls. ``machine``: the part of the change
    that the speed of the machine explains, ``without_core`` that in which threads could run but had no CPU,
    ``communication`` that of collectives, transfers and waits for other ranks, ``rest`` that of everything else."""

    changed: bool
    before: float
    after: float
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
    text: str

    def as_json(self) -> dict[str, Any]:
        names = (
            "text",
            "changed",
            "mean",
            "rank",
            "below",
            "backward",
            "part",
            "because",
            "machine",
            "without_core",
            "communication",
            "rest",
        )
        return {name: getattr(self, name) for name in names} | {"step": [self.before, self.after]}


@dataclass(frozen=True)
class _Cause:
    """The function that explains a change, by how much, and its changed calls."""

    row: DiffRow
    part: float
    backward: bool
    because: list[str]


def verdict(diff: Diff) -> DiffVerdict:
    before, after = (side.whole for side in diff.sides)
    changed = bool(diff.changed() or diff.changed_calls())
    rank = _changed_rank(diff, after - before) if changed else None
    of = diff if rank is None else diff.of_rank(rank)
    (work, waits), now = (mean_work(times, side.rank) for times, side in zip(of.rank_work, of.sides, strict=True))
    machine, communication = (of.cpu[0] or work) * (of.cpu_speed - 1), now[1] - waits
    queue = of.queue[1] - of.queue[0]
    means = (diff.sides[0].mean, diff.sides[1].mean)
    cause = _cause(of, now[0] - work - machine - queue) if changed else None
    part = _part_of(cause, now[0], queue)
    if changed and abs(part) < _NAMED * abs(means[1] - means[0]):
        cause = _cause_by_calls(of, means[1] - means[0], now[0])
        part = _part_of(cause, now[0], queue)
    largest = max(map(abs, (part, machine, queue, communication))) if changed else 0.0
    mean = abs(means[1] - means[0] - (after - before)) > _NAMED * largest > 0
    before, after = means if mean else (before, after)
    made = DiffVerdict(
        changed=changed,
        before=before,
        after=after,
        mean=mean,
        rank=rank if cause is not None else None,
        below=cause.row.key if cause is not None else None,
        backward=cause is not None and cause.backward,
        part=part,
        because=cause.because if cause is not None else [],
        machine=machine,
        without_core=queue,
        communication=communication,
        rest=after - before - machine - queue - communication - part,
        text="",
    )
    measured = "".join(f"; {each.name} {_growth(diff, each)}" for each in diff.measured.shown)
    return replace(made, text=_text(of, made, cause) + measured)


def _changed_rank(diff: Diff, change: float) -> int | None:
    """Return the rank whose work changed by most of the change of the step, while that of the others did not: they
    wait for it. None: all ranks are alike."""
    was, now = diff.rank_work
    common = sorted(was.keys() & now.keys())
    if diff.by != "node" or not 2 <= len(common) <= _MOST_RANKS or any(side.rank is not None for side in diff.sides):
        return None
    changes = {rank: now[rank][0] / now[rank][2] - was[rank][0] / was[rank][2] for rank in common}
    rank = max(common, key=lambda each: changes[each] * (1 if change > 0 else -1))
    others = median(time for each, time in changes.items() if each != rank)
    enough = max(abs(change) * _MOST_OF_RANK, _LEAST * max(diff.sides[0].whole, diff.sides[1].whole))
    differs = (changes[rank] - others) * (1 if change > 0 else -1) >= enough
    return rank if differs and diff.of_rank(rank).changed() else None


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
        rank = f"rank {made.rank} became {'slow' if change > 0 else 'fast'}: " if made.rank is not None else ""
        reasons = f" ({'; '.join(made.because)})" if made.because else ""
        place = _place(diff, cause.row.key)
        yield f"{rank}{_signed(made.part)} {_preposition(diff, cause)} {place}{reasons}"
    named = [(part, name) for part, name in parts if abs(part) >= _NAMED * abs(change)]
    yield from (f"{_signed(part)} {name}" for part, name in named)
    rest = made.rest + sum(part for part, _ in parts) - sum(part for part, _ in named)
    if abs(rest) >= _REST * abs(change):
        yield f"{_signed(rest)} elsewhere"


def _preposition(diff: Diff, cause: _Cause) -> str:
    if cause.backward:
        return "in the backward of"
    own = _growth_of(diff, cause.row.self)
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


def _cause(diff: Diff, change: float) -> _Cause | None:
    """Return the innermost function of the program that explains most of the change of the work: among those with most
    of the largest change the one that takes the shortest time."""
    step = max(abs(side.whole) for side in diff.sides)
    if diff.by != "node" or abs(change) < _LEAST * step:
        return None
    row = _innermost(diff, "work", change, abs(change) / 2)
    return None if row is None else _explained(diff, row)


def _part_of(cause: _Cause | None, step: float, queue: float) -> float:
    """Return the part of the change that a cause explains: without the time without a core if it contains the step."""
    if cause is None:
        return 0.0
    return cause.part - (queue if not cause.backward and cause.row.work.after >= _ALL * step else 0.0)


def _cause_by_calls(diff: Diff, change: float, step: float) -> _Cause | None:
    """Return the innermost function with more or fewer calls and a part of the change that is named: numbers of calls
    are exact where times without a core hide the rest. Functions that contain the step are not considered."""

    def has_calls(row: DiffRow) -> bool:
        return max(row.work.before, row.work.after) < _ALL * step and bool(_reasons(diff, row, change))

    row = _innermost(diff, "work", change, _NAMED * abs(change), has_calls) if diff.by == "node" else None
    return None if row is None else _explained(diff, row)


def _explained(diff: Diff, row: DiffRow) -> _Cause:
    part = _growth_of(diff, row.work)
    origin = _origin(diff, row, part)
    if origin is not None:
        row, part = origin, _growth_of(diff, origin.backward)
    because = [_edge(call) for call in _reasons(diff, row, part)[:2]]
    return _Cause(row, part, origin is not None, because)


def _origin(diff: Diff, row: DiffRow, part: float) -> DiffRow | None:
    """Return the innermost function whose forward calls caused most of the change ``part`` of ``row``, if it is a
    change of autograd time."""
    return _innermost(diff, "backward", part, _MOST * abs(part)) if abs(row.backward.change) > 0 else None


def _innermost(
    diff: Diff, figure: str, change: float, minimum: float, wanted: Callable[[DiffRow], bool] | None = None
) -> DiffRow | None:
    """Return the function of the program with the shortest time among those with most of the largest change of
    ``figure`` in the direction of ``change``; None if the largest change is below ``minimum``."""
    own = diff.own_keys()
    rows = [row for row in diff.rows if row.kind == "python" and row.key in own and not _is_part(row)]
    rows = [row for row in rows if wanted is None or wanted(row)]
    growth = [(row, _growth_of(diff, getattr(row, figure))) for row in rows]
    same = [(row, time) for row, time in growth if (time > 0) == (change > 0)]
    largest = max((abs(time) for _, time in same), default=0.0)
    if largest < minimum or largest == 0:
        return None
    queue = (diff.queue[1] - diff.queue[0]) * (1 if change > 0 else -1)  # a part of any function with a long time
    enough = _MOST * (largest - min(max(queue, 0.0), largest / 2))
    close = [row for row, time in same if abs(time) >= enough]
    depth = _depths(diff)  # functions that never return have the time of the whole step

    def order(row: DiffRow) -> tuple[float, int, str]:
        time: Pair = getattr(row, figure)
        return max(time.before, time.after), -depth.get(row.key, 0), row.key

    return min(close, key=order)


def _growth_of(diff: Diff, pair: Pair) -> float:
    """Return the change without that by the speed of the machine, which has no effect on time off the CPU."""
    change = pair.change
    idle = diff.idle[1] - diff.idle[0]
    return change if idle * change > 0 and abs(idle) >= abs(change) / 2 else pair.after - pair.before * diff.speed


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
