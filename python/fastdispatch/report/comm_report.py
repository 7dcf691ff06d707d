"""``fastdispatch report --comm``: calls, bytes and bandwidth of communication (docs/concepts/measures.md)."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from fastdispatch._core import Error
from fastdispatch.measures.collective_waits import back_ends, bus_factor, uses_device, waits
from fastdispatch.measures.flops import measured_steps
from fastdispatch.measures.measured import communicated
from fastdispatch.read.collectives import number_of_members
from fastdispatch.read.steps import reduced_of
from fastdispatch.read.summary import in_role, path_of
from fastdispatch.read.trace import Trace
from fastdispatch.report.report_collectives import collective_lines, collectives
from fastdispatch.text.formats import aligned, counted, grouped, printable, rounded_share, seconds, size

#: FD_MEASURE_ASYNC
_ASYNC = 2

#: Wrappers of torch.distributed, which include the wait for a collective without ``async_op``.
_WRAPPERS = ("torch/distributed/distributed_c10d.py:", "torch/distributed/c10d_logger.py:")


@dataclass
class CommRow:
    """Communication of one call path, summed over ranks. Bytes of tensors; times in nanoseconds. ``time_ns``: with the
    wait for the end, None for ``async_op``, for a path that also has calls with ``async_op``, C++ callers and devices;
    bandwidths in bytes per second, else None. ``exposed``: this time of all calls, as share of the time of the main
    threads; None on other threads too."""

    operator: str
    group: str
    ranks_in_group: int
    type: str
    asynchronous: bool
    path: list[str]
    ranks: int
    calls: int
    sent: int
    received: int
    call_ns: int
    time_ns: int | None
    algorithm_bandwidth: float | None
    bus_bandwidth: float | None
    exposed: float | None


def comm_rows(trace: Trace, shown: str) -> list[CommRow]:
    """Return the rows, by bytes. Raises Error if the recording has no figures of communication."""
    sums = communicated(trace.ranks)
    if not sums:
        raise Error(f"--comm: {shown} has no figures of communication: record with measure='comm'")
    device = uses_device(trace)
    ranks = dict(zip(trace.spreads["context"], trace.spreads["ranks"], strict=True))  # of a sum of ranks
    calls: Counter[int] = Counter()
    for (context, _, _), figures in sums.items():
        figures[0] = ranks.get(context, figures[0])
        calls[context] += figures[1]
    with_async = {context for context, _, flags in sums if flags & _ASYNC}
    # A call on a main thread that waits for its end has no other work beside it.
    columns = zip(trace.contexts["self"], in_role(trace, trace.contexts, trace.main_role), strict=True)
    main = sum(own for own, inside in columns if inside)
    found = [
        _row(trace, device or key[0] in with_async, main * calls[key[0]], key, figures) for key, figures in sums.items()
    ]
    return sorted(found, key=lambda row: (-max(row.sent, row.received), row.operator, row.path))


def _row(trace: Trace, returns_early: bool, whole: int, key: tuple[int, str, int], figures: list[int]) -> CommRow:
    """``returns_early``: the functions around some calls of the path do not wait for their end. ``whole``: the time of
    the main threads, times the measured calls of the path."""
    (context, detail, flags), (ranks, calls, sent, got) = key, figures
    kind, _, group = detail.partition(" ")
    name, _, members = group.rpartition(":")
    path = [_key(trace, each) for each in path_of(trace.contexts, context)][::-1]
    operator = path[-1].removeprefix("c10d::")
    waits = None if returns_early else _waiting(trace, context)
    time = None if waits is None else _time(trace, waits, calls)
    count = number_of_members(members)
    factor = bus_factor(operator, count)
    algorithm = max(sent, got) / time * 1e9 if time and bus_factor(operator, count or 2) else None
    bus = None if algorithm is None or factor is None else algorithm * factor
    exposed = None
    if waits is not None and path[0] == trace.main_role and whole:
        exposed = trace.contexts["total"][waits] * calls / whole
    of, passed = (operator, name, count, kind, bool(flags & _ASYNC), path), (ranks, calls, sent, got)
    return CommRow(*of, *passed, _time(trace, context, calls), time, algorithm, bus, exposed)


def _waiting(trace: Trace, context: int) -> int | None:
    """Return the outermost function of torch.distributed around an operator that makes only this call."""
    calls, parents = trace.contexts["calls"], trace.contexts["parent"]
    found, at = None, parents[context]
    while at >= 0 and calls[at] == calls[context] and _key(trace, at).startswith(_WRAPPERS):
        found, at = at, parents[at]
    return found


def _key(trace: Trace, context: int) -> str:
    return str(trace.nodes["key"][trace.contexts["node"][context]])


def _time(trace: Trace, context: int, calls: int) -> int:
    """Return the time of the measured calls; the times of a recording are those of all steps."""
    every = trace.contexts["calls"][context]
    return round(trace.contexts["total"][context] * calls / every) if every else 0


def _communicating(trace: Trace) -> list[dict[str, Any]]:
    return [rank for rank in trace.ranks if "comm" in (rank.get("measures") or {}).get("kind", ())]


def _steps(trace: Trace) -> int | None:
    """Return the number of steps of these ranks together, measured or not; None for a sum of ranks."""
    return None if reduced_of(trace.ranks) else sum(rank["steps"] for rank in _communicating(trace))


def step_lines(trace: Trace) -> Iterator[str]:
    """Yield which steps were measured, if not all."""
    measured, steps = measured_steps(_communicating(trace)), _steps(trace)
    if steps is not None and measured < steps:
        yield f"calls, bytes and times of {grouped(measured)} measured steps of {grouped(steps)}"
        yield ""


def comm_json(trace: Trace, rows: list[CommRow]) -> dict[str, Any]:
    return {
        "schema": "fastdispatch-comm/1",
        "measured_steps": measured_steps(_communicating(trace)),
        "steps": _steps(trace),
        "rows": [asdict(row) for row in rows],
        "waits": [row.as_json() for row in waits(trace)],
        "back_ends": [asdict(row) for row in back_ends(trace)],
    }


def wait_lines(trace: Trace) -> Iterator[str]:
    """Yield the split of the latest collectives, and the number of those without one."""
    undecided: Counter[str] = Counter()
    for row in waits(trace):
        undecided += row.undecided
    lines = [*collective_lines(collectives(trace))]
    lines += [f"{grouped(count)} collectives {reason}: not split" for reason, count in sorted(undecided.items())]
    yield from ("", *lines) if lines else ()


def rate_text(rate: float | None) -> str:
    return "" if rate is None else f"{size(round(rate))}/s"


def back_end_lines(trace: Trace) -> Iterator[str]:
    """Yield the time of each operator on the threads of the back end, also of asynchronous calls."""
    table = [("calls", "bytes", "time", "algorithm", "from start to completion in the back end")]
    for row in back_ends(trace):
        moved = "" if row.bytes is None else size(row.bytes)
        rate = rate_text(row.bytes / row.time_ns * 1e9 if row.bytes and row.time_ns else None)
        table.append((str(row.calls), moved, seconds(row.time_ns), rate, printable(row.name)))
    yield from ("", *aligned(table, ">>>>")) if len(table) > 1 else ()


def comm_lines(rows: list[CommRow]) -> Iterator[str]:
    """Yield a line per row, and the function of the program that caused it."""
    table = [["calls", "sent", "received", "time", "exposed", "algorithm", "bus", "operator, group, type, caller"]]
    for row in rows:
        time = "" if row.time_ns is None else seconds(row.time_ns)
        exposed = "" if row.exposed is None else rounded_share(row.exposed)
        rates = [rate_text(rate) for rate in (row.algorithm_bandwidth, row.bus_bandwidth)]
        members = counted(row.ranks_in_group, "rank")
        what = f"{row.operator} of group {row.group} ({members}), {row.type}{', async' if row.asynchronous else ''}"
        caller = next((key for key in row.path[-2::-1] if not key.startswith(("torch/", "c10d"))), row.path[0])
        moved = size(row.sent), size(row.received)
        table.append([str(row.calls), *moved, time, exposed, *rates, f"{what}, {printable(caller)}"])
    yield from aligned(table, ">>>>>>>")
