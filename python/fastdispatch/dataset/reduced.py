"""The description of the ranks of a data set, the fact ``reduced`` of their sum (docs/formats/dump.md): a dict that
:func:`combined` adds up. Whatever the order, the result is the same."""

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

from fastdispatch import _core
from fastdispatch.read import steps as steps_of_ranks
from fastdispatch.read.trace import Trace

#: Steps that are kept, the latest; and numbers of ranks in a list.
_STEPS, _LISTED = 256, 64

About = dict[str, Any]


def about_of(trace: Trace) -> About:
    """Return the description of the ranks of a trace."""
    return combined(list(map(_about_rank, trace.ranks)))


def _about_rank(rank: Mapping[str, Any]) -> About:
    if steps_of_ranks.REDUCED in rank["meta"]:
        made: About = rank["meta"][steps_of_ranks.REDUCED]
        return made
    number = rank["rank"]
    window = steps_of_ranks.window_of([rank])
    steps = rank["latest_steps"]
    kept = steps_of_ranks.kept_steps(rank)
    times = {str(steps["number"][row]): [1, *(steps[phase][row] for phase in steps_of_ranks.PHASES)] for row in kept}
    ended = rank["steps"] if rank["window"] is None else rank["marks"]["steps"][-1]
    return {
        "ranks": [[number, number]],
        "world": rank["world"],
        "recorded": [rank["recorded"], rank["recorded"]],
        "ended": [ended, ended],
        "states": {rank["state"]: [1, [number]]},
        "incomplete": [0, []] if rank["complete"] else [1, [number]],
        "undecided": "" if rank["window"] is not None else steps_of_ranks.undecided([rank]),
        "window": None if window is None else vars(window) | {"slower": round(1000 * window.slower)},
        "parts": [[part.name, part.steps, part.time, 1] for part in steps_of_ranks.parts([rank])],
        "latest": times,
    }


def combined(found: Sequence[About]) -> About:
    """Add up descriptions. Raises Error if a rank is in two of them."""
    return reduce(_both, found, {})


def _both(a: About, b: About) -> About:
    if not a:
        return b
    states = {name: _listed(a["states"].get(name), b["states"].get(name)) for name in {**a["states"], **b["states"]}}
    return {
        "ranks": _spans([*a["ranks"], *b["ranks"]]),
        "world": max(a["world"], b["world"]),
        **{name: [min(a[name][0], b[name][0]), max(a[name][1], b[name][1])] for name in ("recorded", "ended")},
        "states": dict(sorted(states.items())),
        "incomplete": _listed(a["incomplete"], b["incomplete"]),
        "undecided": min(filter(None, (a["undecided"], b["undecided"])), default=""),
        "window": _windows(a["window"], b["window"]),
        "parts": _parts(a["parts"], b["parts"]),
        "latest": _latest(a["latest"], b["latest"]),
    }


def _spans(spans: list[list[int]]) -> list[list[int]]:
    made: list[list[int]] = []
    for first, last in sorted(spans):
        if made and first <= made[-1][1]:
            raise _core.Error(f"rank {first} has two recordings: give one of them")
        if made and first == made[-1][1] + 1:
            made[-1][1] = last
        else:
            made.append([first, last])
    return made


def _listed(a: list[Any] | None, b: list[Any] | None) -> list[Any]:
    """Add numbers of ranks, and lists of the lowest of them."""
    found = [each for each in (a, b) if each is not None]
    return [sum(each[0] for each in found), sorted(rank for each in found for rank in each[1])[:_LISTED]]


def _windows(a: About | None, b: About | None) -> About | None:
    if a is None or b is None:
        return None
    made = {name: max(a[name], b[name]) for name in ("last", "steps", "ended", "slower", "varying")}
    made |= {name: min(a[name], b[name]) for name in ("first", "skipped", "settled")}
    made["most_skipped"] = max(each.get("most_skipped", 0) for each in (a, b))
    return made | {"varying": made["varying"] and made["settled"]}


def _parts(a: list[list[Any]], b: list[list[Any]]) -> list[list[Any]]:
    pairs = zip(a, b, strict=True) if a and b else ()
    return [[name, max(one[0], other[0]), one[1] + other[1], one[2] + other[2]] for (name, *one), (_, *other) in pairs]


def _latest(a: dict[str, list[int]], b: dict[str, list[int]]) -> dict[str, list[int]]:
    made = {number: list(times) for number, times in a.items()}
    for number, times in b.items():
        made[number] = [x + y for x, y in zip(made[number], times, strict=True)] if number in made else list(times)
    kept = sorted(made, key=int)[-_STEPS:]
    return {number: made[number] for number in kept}
