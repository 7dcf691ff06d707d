"""Work and waiting of main threads: functions that wait for other ranks, time on a CPU and in the queue for one."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from fastdispatch.read.columns import rows
from fastdispatch.read.steps import PHASE_BITS, PHASES, step_times, thread_times
from fastdispatch.read.summary import in_role
from fastdispatch.read.trace import Columns, Trace

#: The function in which backward runs: its own time is that of waiting for gradients and for other threads.
ENGINE = "torch/autograd/graph.py:[]:_engine_run_backward"

_SPACES = ("c10d::", "c10d_functional::", "_c10d_functional::", "torch/distributed/")
_BACK_ENDS = ("gloo", "nccl", "mpi", "ucc", "xccl", "hccl")

#: Functions that post messages, and names of those that wait for them.
_POSTS = {f"torch/distributed/distributed_c10d.py:[]:{name}" for name in ("batch_isend_irecv", "irecv", "isend")}
_TRANSFERS = re.compile(r"communicat|recv|send|p2p|transfer|exchange", re.IGNORECASE)

#: Operators that wait for a device.
_READS = ("aten::_local_scalar_dense", "aten::item", "aten::is_nonzero", "aten::nonzero", "torch/cuda/")

#: Parts of a step, in the order of the bar: phases, and what interrupts them.
PARTS = ("forward", "backward", "optimizer", "data", "communication", "gc", "other")

_GC = "gc:gen"
_ASKING = "torch/"  # its functions also run in a program without a process group

#: Kinds of the own time of a node: work; calls that can block, which do not measure the machine; communication, and
#: waits for other ranks.
WORKS, MAY_WAIT, FOR_RANKS = range(3)


#: Share of the time without a CPU from which on the machine is overloaded.
OVERLOADED = 0.1


def is_communication(key: str) -> bool:
    """Return whether the own time of a function or operator is communication or waiting for it."""
    return key.startswith(_SPACES) or key.partition(":")[0] in _BACK_ENDS


def waits_of(trace: Trace) -> bytes:
    """Return for each node whether its own time is work, may be waiting, or is communication."""
    made = bytearray(_wait_of(*node) for node in rows(trace.nodes, "key kind from"))
    if ENGINE in trace.nodes["key"] and _engine_waits_for_ranks(trace):
        made[trace.nodes["key"].index(ENGINE)] = FOR_RANKS
    for node in _transfers(trace):
        made[node] = FOR_RANKS
    return bytes(made)


def communicating(trace: Trace) -> list[bool]:
    """Return for each node whether its own time is communication or waiting for other ranks."""
    return [wait == FOR_RANKS for wait in waits_of(trace)]


class PhaseSplit:
    """Own time of the main threads by phase, and which paths are communication or garbage collections."""

    def __init__(self, trace: Trace, role: str) -> None:
        contexts = trace.contexts
        keys = trace.nodes["key"]
        communicates = any(is_communication(key) and not key.startswith(_ASKING) for key in keys)
        interrupts = [
            "communication" if communicates and waits else "gc" if key.startswith(_GC) else ""
            for key, waits in zip(keys, communicating(trace), strict=True)
        ]
        self.rows = [
            (row, PHASES[min(flags & PHASE_BITS, len(PHASES) - 1)], interrupts[node])
            for row, (node, flags, inside) in enumerate(
                zip(contexts["node"], contexts["flags"], in_role(trace, contexts, role), strict=True)
            )
            if inside
        ]

    def sums(self, contexts: Columns | None) -> dict[str, Counter[str]]:
        """Return the own time of each phase, by part."""
        sums = {phase: Counter[str]() for phase in PHASES}
        own = contexts["self"] if contexts is not None else None
        for row, phase, interrupt in self.rows if own is not None else ():
            sums[phase][interrupt or phase] += own[row] if own is not None else 0
        return sums

    def phases(self, contexts: Columns | None) -> dict[str, int]:
        """Return the own time of each phase, of a recording without steps."""
        return {phase: times.total() for phase, times in self.sums(contexts).items()}

    def parts(self, times: dict[str, int], contexts: Columns | None) -> dict[str, int]:
        """Divide the times of phases: communication and collections are separate parts. The sum does not change."""
        sums = self.sums(contexts)
        parts = dict.fromkeys(PARTS, 0)
        for phase, time in times.items():
            left = time
            for interrupt in ("communication", "gc"):
                part = time * sums[phase][interrupt] // max(sums[phase].total(), 1)
                parts[interrupt] += part
                left -= part
            parts[phase] += left
        return parts


def _transfers(trace: Trace) -> set[int]:
    """Return the functions, by their names, that post messages of a pipeline and then wait for them."""
    nodes, contexts = trace.nodes, trace.contexts
    found: set[int] = set()
    for row, node in enumerate(contexts["node"]):
        above = contexts["parent"][row] if nodes["key"][node] in _POSTS else -1
        while above >= 0 and not _TRANSFERS.search(nodes["name"][contexts["node"][above]]):
            above = contexts["parent"][above] if nodes["key"][contexts["node"][above]].startswith("torch/") else -1
        while above >= 0 and _TRANSFERS.search(nodes["name"][contexts["node"][above]]):
            found.add(contexts["node"][above])
            above = contexts["parent"][above]
    return {node for node in found if nodes["kind"][node] == "python"}


def _wait_of(key: str, kind: str, source: str) -> int:
    if is_communication(key):
        return FOR_RANKS
    may_wait = kind == "c" or source == "stdlib" or key == ENGINE or key.startswith(_READS)
    return MAY_WAIT if may_wait else WORKS


def _engine_waits_for_ranks(trace: Trace) -> bool:
    """Return whether backward runs in the thread that starts it, so that the engine waits for gradients only."""
    threads = any(role.startswith("autograd:") for rank in trace.ranks for role in rank["threads"]["role"])
    return not threads and any(rank["world"] > 1 for rank in trace.ranks)


def work_of_ranks(trace: Trace) -> dict[int, tuple[float, float, int]]:
    """Return per rank the time that its main threads work, and that they communicate or wait for others, ns, and its
    steps (1: of the whole run without steps)."""
    waits = waits_of(trace)
    inside = in_role(trace, trace.contexts, trace.main_role)
    main = [(row, waits[node] == FOR_RANKS) for row, node in enumerate(trace.contexts["node"]) if inside[row]]
    found: dict[int, tuple[float, float, int]] = {}
    for index, rank in enumerate(trace.ranks):
        totals = trace.core.totals(index, rank["window"] is None)
        own, asynchronous = totals["self"].tolist(), totals["async"].tolist()
        times = [0, 0]
        for row, communicates in main:
            if not asynchronous[row]:
                times[communicates] += own[row]
        found[rank["rank"]] = (times[0], times[1], rank["steps"] or 1)
    return found


def mean_work(ranks: Mapping[int, tuple[float, float, int]], one: int | None) -> tuple[float, float]:
    """Return the time per step of work, and of communication, in which :func:`work_of_ranks` divides that of ranks, or
    of ``one``."""
    chosen = [times for rank, times in ranks.items() if one in (None, rank)]
    steps = max(sum(times[2] for times in chosen), 1)
    return sum(times[0] for times in chosen) / steps, sum(times[1] for times in chosen) / steps


def cpu_time(trace: Trace, rank: Mapping[str, Any]) -> int | None:
    """Return the CPU time of the main threads of a rank in the steps that its figures cover, ns; None if unknown."""
    threads = rank["threads"]
    times = [cpu for role, cpu in zip(threads["role"], threads.get("cpu", ()), strict=False) if role == trace.main_role]
    return sum(times) or None


def queued_share(rank: Mapping[str, Any]) -> float | None:
    """Return the share of the covered steps in which the main thread could run but had no CPU; None if unknown.

    It is known at the ends of some steps: the share between the first and the last of them counts for all."""
    marks, window = rank["marks"], rank["window"]
    known = marks.get("queued", ())
    first, last = (window["from"], window["to"]) if window is not None else (0, len(known))
    read = [row for row in range(first, last) if known[row]]
    if not read or (first > 0 and not known[first - 1]):
        return None
    begin = (known[first - 1], marks["recorded"][first - 1]) if first > 0 else (0, 0)
    time = marks["recorded"][read[-1]] - begin[1]
    return min(max(known[read[-1]] - begin[0], 0) / time, 1.0) if time > 0 else None


def queued_time(ranks: Sequence[Mapping[str, Any]], role: str) -> int | None:
    """Return the time of the covered steps in which the main threads, of a role, had no CPU, ns; None if unknown."""
    shares = [(queued_share(rank), thread_times([rank]).get(role, 0)) for rank in ranks]
    known = [share * time for share, time in shares if share is not None]
    return round(sum(known)) if known and len(known) == len(shares) else None


def waiting_text(time: int, cpu: int, queued: int, of: str = "") -> str:
    """Return the shares of a time that a thread waited, and that it had no core."""
    return f"{100 * max(time - cpu - queued, 0) / time:.1f} %{of} waiting, {100 * queued / time:.1f} % without a core"


def overload_text(time: int, cpu: int | None, queued: int | None) -> str:
    """Return a sentence if main threads often had no core in a time; else empty."""
    if cpu is None or queued is None or not time or queued < OVERLOADED * time:
        return ""
    return f"{waiting_text(time, cpu, queued)}: the machine is overloaded"


def doubts(trace: Trace) -> str:
    """Return a sentence if few steps with different times make their median uncertain, or if the machine was
    overloaded; else empty."""
    time = step_times(trace.ranks)
    whole = thread_times(trace.ranks).get(trace.main_role, 0)
    cpu = [cpu_time(trace, rank) for rank in trace.ranks]
    known = sum(each for each in cpu if each is not None) if None not in cpu else None
    overload = overload_text(whole, known, queued_time(trace.ranks, trace.main_role))
    return "; ".join(filter(None, [overload, "" if time is None else time.doubt]))


def busy_time(trace: Trace, ranks: Sequence[Mapping[str, Any]], *, queue: bool = True) -> float:
    """Return the time per step (of the run without steps) that the main threads of ranks were on a CPU or in the queue
    for one, ns; 0 if it is unknown. ``queue``: without it, on a CPU only."""
    total, steps = 0.0, 0
    for rank in ranks:
        cpu = cpu_time(trace, rank)
        if cpu is None:
            return 0.0
        covered = thread_times([rank], "covered").get(trace.main_role, 0)
        total += cpu + (queued_share(rank) or 0.0) * covered * queue
        steps += rank["steps"] or 1
    return total / steps if steps else 0.0
