"""``host-code``: the program computes in Python or C, or blocks, while no operator runs."""

import ast
from collections import Counter
from collections.abc import Iterable, Iterator

from fastdispatch.detectors import limits
from fastdispatch.detectors.measured_steps import BACKWARD, DATA, FORWARD, OPTIMIZER, MeasuredSteps, counted
from fastdispatch.detectors.model import Finding
from fastdispatch.detectors.rank_figures import blocked, rank_figures, ranks_with
from fastdispatch.read.columns import rows
from fastdispatch.read.source_calls import called, inside
from fastdispatch.read.waiting import is_communication
from fastdispatch.text.formats import percent, seconds

#: Functions that block or take long, by their names in the source, the more likely ones first.
_SLOW_NAMES = """
sleep fsync acquire recv communicate check_output urlopen request post join wait result run dump dumps load loads
compress crc32 findall sub sorted sort stack format_stack deepcopy tensor write flush print open read get put
"""
_SLOW = _SLOW_NAMES.split()

#: Calls that wait for collectives or devices, which no operator shows.
_WAITS = {"wait", "synchronize", "result"}


def host_code(steps: MeasuredSteps) -> Iterator[Finding | str]:
    """Report the time that nearly every step has, then what half of the steps have twice as much of: waiting for a lock
    or a network varies."""
    minimum = max(limits.HOST_SHARE * steps.short, limits.HOST_MS * 1e6)
    found = [
        *_findings(steps, _host_times(steps, _shortest(steps)), minimum, "nearly every step"),
        *_findings(steps, _host_times(steps, _usual(steps, 2)), 2 * minimum, "half of the steps"),
    ]
    yield from (each for each in found if isinstance(each, Finding))
    yield from dict.fromkeys(each for each in found if isinstance(each, str))


def _findings(steps: MeasuredSteps, times: dict[int, float], minimum: float, which: str) -> Iterator[Finding | str]:
    reported = set(_heaviest(steps, times, minimum))
    for node, paths in steps.grouped(lambda path: steps.paths["node"][path], reported).items():
        if max(rank["world"] for rank in steps.ranks) > 1 and _may_wait(steps, node):
            yield f"{steps.keys[node]} may wait for a collective, which its own time does not show"
            continue
        inner = [row for path in paths for row in _rows(steps, path, times, reported)]
        queued = max(steps.queued.values(), default=0.0)
        spent = sum(times[row] for row in inner if row in times)
        if queued and spent - queued < minimum and blocked(steps) < spent / 2:
            yield f"main threads had no core for up to {seconds(queued)} of a step"
            continue
        yield _finding(steps, paths, inner, times, which)


def _shortest(steps: MeasuredSteps) -> dict[int, float]:
    """Return the time of rows in nine of ten steps, or in all, on the rank with the longest."""
    shortest: dict[int, float] = {}
    for rank in rank_figures(steps):
        for row, time in rank.shortest.items():
            shortest[row] = max(shortest.get(row, 0.0), time)
    for row, time in _usual(steps, 10).items():
        shortest[row] = max(shortest.get(row, 0.0), time)
    return shortest


def _host_times(steps: MeasuredSteps, times: dict[int, float]) -> dict[int, float]:
    """Return the times of rows of the program's own code without operators, less a bound of the cost of recording."""
    found: dict[int, float] = {}
    for row, time in times.items():
        if row not in steps.claimed and _is_host(steps, row):
            callees = sum(map(steps.calls, steps.children[row]))
            operators = sum(steps.calls(child) for child in steps.children[row] if not _is_host(steps, child))
            spent = time - (steps.calls(row) + callees) * limits.HOST_CALL_NS - operators * limits.HOST_US * 1e3
            if steps.gpu is not None:
                spent = min(spent, steps.gpu.idle[row])
            found[row] = max(spent, 0.0)
    return found


def _usual(steps: MeasuredSteps, part: int) -> dict[int, float]:
    """Return paths that steps keep as their heaviest, and the time that all but one ``part`` of the steps exceed: the
    first step of a loop lacks what follows the others."""
    found: dict[int, float] = {}
    for rank in steps.ranks:
        times: dict[int, Counter[int]] = {}
        for step, row, time in rows(rank["step_tops"], "step context self"):
            times.setdefault(row, Counter())[step] += time
        count = len(set(rank["step_tops"]["step"]))
        for row, each in times.items():
            absent = count - len(each)
            place = count // part - absent
            if place >= 0 and row < len(steps.paths["node"]):
                found[row] = max(found.get(row, 0.0), float(sorted(each.values())[place]))
    return found


def _is_host(steps: MeasuredSteps, row: int) -> bool:
    """Whether the own time of a row is that of the program: of its functions, and of others that call no operator on
    its behalf. PyTorch's own functions belong to operators."""
    if not steps.main[row] or steps.paths["async"][row] or steps.phase(row) in (BACKWARD, DATA, OPTIMIZER):
        return False
    if steps.is_user(row):
        return True
    if steps.kind(row) not in ("python", "c", "overflow") or steps.is_torch(row) or is_communication(steps.key(row)):
        return False
    if steps.phase(row) == FORWARD and steps.trace.nodes["from"][steps.paths["node"][row]] != "stdlib":
        return False  # a library may launch its own kernels
    return not steps.paths["ops"][row] and steps.user(row) >= 0


def _heaviest(steps: MeasuredSteps, times: dict[int, float], minimum: float) -> Iterator[int]:
    """Yield the innermost functions of the program with enough time, callees first; a caller has the rest."""
    rest: dict[int, float] = {}
    for row in range(len(steps.paths["node"]) - 1, -1, -1):
        rest[row] = rest.get(row, 0.0) + times.get(row, 0.0)
        if steps.is_user(row) and not steps.is_part(row) and rest[row] >= minimum:
            yield row
        elif steps.paths["parent"][row] >= 0 and row in times:
            parent = steps.paths["parent"][row]
            rest[parent] = rest.get(parent, 0.0) + rest[row]


def _rows(steps: MeasuredSteps, path: int, times: dict[int, float], reported: Iterable[int]) -> Iterator[int]:
    """Yield a path and the rows below it whose time is a part of it."""
    yield path
    for child in steps.children[path]:
        if child in times and child not in reported:
            yield from _rows(steps, child, times, reported)


def _may_wait(steps: MeasuredSteps, node: int) -> bool:
    function = steps.sources.function(node)
    return function is None or any(called(call) in _WAITS for call in steps.sources.calls(node))


def _finding(steps: MeasuredSteps, paths: list[int], inner: list[int], times: dict[int, float], which: str) -> Finding:
    path = max(paths, key=lambda each: times.get(each, 0.0))
    spent = sum(times[row] for row in inner if row in times)
    mean = sum(map(steps.own, inner))
    callee = max((row for row in inner if row not in paths), key=lambda row: times.get(row, 0.0), default=-1)
    where = steps.where(path)
    where.line = _line(steps, path, times, spent / len(paths)) or where.line
    steps.claimed.update(inner)
    calls = sum(map(steps.calls, paths))
    often = f"{counted(calls, 'call')} per step, " if calls >= 0.05 else ""  # a running function has none
    most = f", most of it in {steps.key(callee)}" if callee >= 0 and times[callee] >= spent / 2 else ""
    return steps.finding(
        f"{steps.name(path)} takes {seconds(spent)} of a step without any operator",
        where,
        spent,
        f"{often}at least {seconds(spent)} or"
        f" {percent(spent / steps.step)} of {which} (mean {seconds(mean)}) in Python, in C or waiting{most}",
        "do it every N steps, or after the loop; compute what stays the same once; leave files, networks and other slow"
        " calls to another thread or process",
        ranks=ranks_with(steps, paths),
        evidence={"ns_per_step": round(mean), "least_ns": round(spent), "calls_per_step": round(calls, 2)},
    )


def _line(steps: MeasuredSteps, path: int, times: dict[int, float], spent: float) -> int:
    """Return the line of a call that explains the time of a function: of the callee with half of it, or a slow function
    that was not recorded; else that of its only ``with``. Return 0 without one."""
    node = steps.paths["node"][path]
    below = {row: sum(times.get(each, 0.0) for each in (row, *steps.below(row))) for row in steps.children[path]}
    heavy = max((row for row in below if row in times), key=lambda row: below[row], default=-1)
    if heavy >= 0 and 2 * below[heavy] >= spent:
        line = steps.sources.line(node, (steps.name(heavy),))
        if line:
            return line
    function = steps.sources.function(node)
    if function is None:
        return 0
    loops = [each for each in inside(function) if isinstance(each, (ast.For, ast.While))]
    loops = [] if steps.calls(path) >= limits.EVERY else loops
    slow = [call for call in steps.sources.calls(node) if called(call) in _SLOW and (not loops or _within(call, loops))]
    if slow:
        first = min(slow, key=lambda call: _SLOW.index(called(call)))
        return first.func.end_lineno or first.lineno
    blocks = [each for each in inside(function) if isinstance(each, ast.With)]
    return blocks[0].lineno if len(blocks) == 1 else 0


def _within(call: ast.Call, loops: Iterable[ast.For | ast.While]) -> bool:
    return any(loop.lineno < call.lineno <= (loop.end_lineno or loop.lineno) for loop in loops)
