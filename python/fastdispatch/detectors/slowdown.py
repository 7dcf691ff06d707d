"""``slowdown``: steps take longer and longer."""

from collections import Counter
from collections.abc import Iterator, Sequence
from math import sqrt
from statistics import median
from typing import Any

from fastdispatch.detectors import limits
from fastdispatch.detectors.measured_steps import DATA, MeasuredSteps, number, steps_of
from fastdispatch.detectors.model import Finding
from fastdispatch.read.columns import rows
from fastdispatch.text.formats import percent, seconds

#: Runs of more ranks are not read again for their parts.
_MOST_RANKS = 8

ADVICE = "look for a list, cache, graph or set of hooks that each step extends and later steps traverse"


def slowdown(steps: MeasuredSteps) -> Iterator[Finding | str]:
    for each in _by_time(steps):
        yield each
        if isinstance(each, Finding):
            return
    yield from _by_calls(steps)


def _by_time(steps: MeasuredSteps) -> Iterator[Finding | str]:
    decided = False
    asked, steps = steps, steps.whole
    for rank in steps.ranks:
        spans = list(rows(rank["latest_steps"], "number begin end"))[limits.STEPS :]
        if len(spans) < limits.GROWTH_STEPS:
            continue
        decided = True
        times = [end - begin for _, begin, end in spans]
        third = len(times) // 3
        first, middle, last = (median(part) for part in (times[:third], times[third:-third], times[-third:]))
        if not (first < middle < last and last >= limits.GROWTH * first) or sigmas(times) < limits.GROWTH_SIGMAS:
            continue
        path, grown, factor = _grown(
            rank, [number for number, _, _ in spans[:third]], [number for number, _, _ in spans[-third:]]
        )
        cpu = _cpu(steps, rank, spans)
        if cpu is not None and cpu[1] - cpu[0] < limits.GROWTH_OF_CPU * (last - first):
            yield "steps grew, but their CPU time did not: the machine was busy, or the program waited"
            return
        one = grown >= limits.GROWTH_PATH * (last - first) and factor >= limits.GROWTH_OF_PATH
        everywhere = cpu is not None and cpu[1] >= limits.GROWTH_EVERYWHERE * cpu[0] and cpu[1] - cpu[0] >= 1e6
        if everywhere and not one and steps.part is not None:
            everywhere = not grew_alike(*(_times_of_phases(MeasuredSteps(steps.part(each))) for each in _ends(spans)))
        if path < 0 or not (one or everywhere):
            continue
        gain = sum(times) / len(times) - first
        # The same calls of the same function of the program.
        user, same = steps.user(path), asked.named(steps.key(path))
        asked.claim([row for row in same if user < 0 or asked.key(max(asked.user(row), 0)) == steps.key(user)])
        yield steps.finding(
            f"steps grow from {seconds(first)} to {seconds(last)}",
            steps.where(path),
            gain,
            f"{steps.key(path)} grew by {seconds(grown)}, {percent(min(grown / (last - first), 1.0))} of the growth",
            ADVICE,
            severity="critical" if last >= 2 * first else "warning",
            ranks=[rank["rank"]],
            evidence={
                "first_ns": round(first),
                "last_ns": round(last),
                "path_ns": round(grown),
                "sigmas": round(sigmas(times), 1),
            },
        )
        return
    if not decided:
        yield f"fewer than {limits.GROWTH_STEPS} steps"


def _cpu(steps: MeasuredSteps, rank: dict[str, Any], spans: Sequence[tuple[int, ...]]) -> tuple[float, float] | None:
    """Return the CPU time per step of the main thread of a rank in the first and last third of the steps; None if it is
    unknown."""
    if steps.part is None:
        return None
    times = []
    for ends in _ends(spans):
        trace = steps.part(ends)
        found = [each for each in trace.ranks if each["rank"] == rank["rank"] and each["window"] is not None]
        for each in found:
            threads = rows(each["threads"], "role cpu")
            times += [cpu / steps_of(each) for role, cpu in threads if role == trace.main_role]
    return (times[0], times[1]) if len(times) == 2 and all(times) else None


def _ends(spans: Sequence[tuple[int, ...]]) -> list[tuple[int, int]]:
    """Return the numbers of the first and last step of the first third of the steps, and of the last third."""
    third = len(spans) // 3
    return [(spans[0][0], spans[third - 1][0]), (spans[-third][0], spans[-1][0])]


def _by_calls(steps: MeasuredSteps) -> Iterator[Finding | str]:
    """Report a function of the program that later steps call more often than earlier ones: counts have no noise."""
    whole = steps.whole
    if steps.part is None or whole.longest < limits.GROWTH_STEPS or len(whole.ranks) > _MOST_RANKS:
        return
    third = whole.longest // 3
    parts = [MeasuredSteps(steps.part((i * third + 1, (i + 1) * third))) for i in range(3)]
    if any(part.trace.window is None for part in parts):
        return
    calls = [_calls(part) for part in parts]
    times = [_cpu_of(part) for part in parts]
    growing = [
        key
        for key, count in calls[2].items()
        if calls[0].get(key, 0) < calls[1].get(key, 0) < count
        and count >= limits.GROWTH_CALLS * calls[0].get(key, 0)
        and 1.5 <= calls[0].get(key, 0) <= count - 2
    ]
    functions = {key for key, kind in zip(parts[2].keys, parts[2].kinds, strict=True) if kind == "python"}
    key = max(growing, key=lambda each: (each in functions, calls[2][each]), default=None)
    if key is None:
        if times[0] < times[1] < times[2] >= max(limits.GROWTH_EVERYWHERE * times[0], times[0] + 1e6) and times[0]:
            alike = "all phases of a step grew alike, as on a machine that becomes slower"
            slower = grew_alike(*map(_times_of_phases, (parts[0], parts[2])))
            yield alike if slower else _everywhere(steps, parts, times)
        return
    first, _, last = ([row for row in part.named(key) if part.main[row]] for part in parts)
    grown = sum(map(parts[2].total, last)) - sum(map(parts[0].total, first))
    heaviest = max(last, key=parts[2].total)
    steps.claim(steps.named(key))
    yield steps.finding(
        f"each step calls {parts[2].name(heaviest)} more often than the previous step",
        parts[2].where(heaviest),
        max(grown, 0.0),
        f"calls of {key} per step: {', '.join(number(each[key]) for each in calls)} in thirds of the run;"
        f" {seconds(max(grown, 0.0))} per step more",
        ADVICE,
        severity="warning",
        evidence={"calls_per_step": [round(each[key], 2) for each in calls], "path_ns": round(grown)},
    )


def _everywhere(steps: MeasuredSteps, parts: Sequence[MeasuredSteps], times: Sequence[float]) -> Finding:
    """Return the finding that the CPU time of steps grows, although their calls do not: their data does."""
    first, last = parts[0], parts[2]
    before: dict[str, float] = {}
    for row, main in enumerate(first.main):
        before[first.key(row)] = before.get(first.key(row), 0.0) + (first.own(row) if main else 0.0)
    grown = {row: last.own(row) - before.get(last.key(row), 0.0) for row, main in enumerate(last.main) if main}
    path = max(grown, key=lambda row: grown[row])
    return steps.finding(
        f"the CPU time of a step grows from {seconds(times[0])} to {seconds(times[2])}",
        last.where(path),
        times[2] - times[0],
        f"{', '.join(map(seconds, times))} of CPU time per step in thirds of the run, with the same calls: their data"
        f" grows, mostly in {last.key(path)}",
        ADVICE,
        severity="critical",
        evidence={"cpu_ns": [round(time) for time in times], "path_ns": round(grown[path])},
    )


def grew_alike(before: Counter[int], after: Counter[int]) -> bool:
    """Return whether the times of all phases grew by about one factor. With more data, the optimizer is as fast as
    before."""
    factors = [after[each] / time for each, time in before.items() if time >= limits.GROWTH_PHASE * before.total()]
    return len(factors) > 1 and min(factors) - 1 > limits.GROWTH_ALIKE * (max(factors) - 1)


def _times_of_phases(steps: MeasuredSteps) -> Counter[int]:
    times = Counter[int]()
    for row, main in enumerate(steps.main):
        times[steps.phase(row)] += round(steps.own(row)) if main else 0
    return times


def _cpu_of(steps: MeasuredSteps) -> float:
    """Return the CPU time of main threads per step, 0 if it is unknown."""
    times = [
        cpu for rank in steps.ranks for role, cpu in rows(rank["threads"], "role cpu") if role == steps.trace.main_role
    ]
    return sum(times) / max(steps.count, 1) if all(times) else 0.0


def _calls(steps: MeasuredSteps) -> dict[str, float]:
    """Return the calls per step of functions of the program, and of operators that they call, in every step."""
    found = Counter[str]()
    for row, main in enumerate(steps.main):
        if not main or not steps.every(row) or steps.phase(row) == DATA:
            continue
        parent = steps.paths["parent"][row]
        if steps.is_user(row) or (steps.kind(row) == "op" and parent >= 0 and steps.is_user(parent)):
            found[steps.key(row)] += steps.paths["calls"][row]
    return {key: count / max(steps.count, 1) for key, count in found.items()}


def sigmas(times: Sequence[int]) -> float:
    """Return how significant a growth of values is: Kendall's tau, in standard deviations of values without trend."""
    pairs = [(later > earlier) - (later < earlier) for i, earlier in enumerate(times) for later in times[i + 1 :]]
    count = len(times)
    return sum(pairs) / sqrt(count * (count - 1) * (2 * count + 5) / 18) if count > 1 else 0.0


def _grown(rank: dict[str, Any], first: Sequence[int], last: Sequence[int]) -> tuple[int, float, float]:
    """Return the path whose own time grew most between steps, by how much, and how much more than the rest of the step;
    of the paths that the recording keeps for each step."""
    whole = {number: end - begin for number, begin, end in rows(rank["latest_steps"], "number begin end")}
    times = {number: Counter[int]() for number in (*first, *last)}
    for step, path, time in rows(rank["step_tops"], "step context self"):
        if step in times:
            times[step][path] += time

    def typical(path: int, steps: Sequence[int]) -> float:
        """The median, where a path that was not kept counts as the shortest that was."""
        return median(times[step].get(path, min(times[step].values(), default=0)) for step in steps)

    paths = {path for each in times.values() for path in each}
    path = max(paths, key=lambda each: typical(each, last) - typical(each, first), default=-1)
    if path < 0:
        return -1, 0.0, 0.0
    before, after = typical(path, first), typical(path, last)
    rest = [median(whole[step] - times[step][path] for step in steps) for steps in (first, last)]
    return path, after - before, after / max(before, 1.0) / (rest[1] / max(rest[0], 1.0))
