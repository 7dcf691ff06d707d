"""Collectives across ranks: waiting for the last rank, transfer, bandwidth (docs/concepts/measures.md)."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from statistics import median
from typing import Any, NamedTuple

from fastdispatch.measures.measured import communicated
from fastdispatch.read.collectives import SYNCHRONIZING, CollectiveCall, GroupCalls, group_calls, number_of_members
from fastdispatch.read.columns import rows
from fastdispatch.read.trace import Trace
from fastdispatch.text.kernel_names import collective_kernel

#: Back ends whose functions return before the transfer: only the device waits.
_DEVICES = ("nccl:", "xccl:", "hccl:")

#: Fewer collectives do not align the clocks of hosts.
_LEAST = 5

#: Why a collective has no split.
ASYNC, ENDS, RANKS, CLOCKS, DEVICE, PARTIAL, NUMBERS, GROUP, STEPS = (
    "asynchronous, or called by C++ code",
    "without a known end",
    "not kept on all ranks of the group",
    "on hosts with different clocks, which too few collectives align",
    "on a device, for which the host does not wait",
    "of an operator in which not all ranks wait for the last one",
    "with numbers that cannot be compared",
    "of a group that was not recorded (measure='comm')",
    "not in the same steps, or not as often, on all ranks of the group",
)

#: Operators of c10d by the names of collectives; these are also the names of the records of back ends.
_OPERATORS = {
    "all_reduce": ("allreduce_", "allreduce_coalesced_"),
    "all_gather": ("allgather_", "_allgather_base_", "allgather_coalesced_", "allgather_into_tensor_coalesced_"),
    "reduce_scatter": ("reduce_scatter_", "_reduce_scatter_base_", "reduce_scatter_tensor_coalesced_"),
    "broadcast": ("broadcast_",),
    "reduce": ("reduce_",),
    "gather": ("gather_",),
    "scatter": ("scatter_",),
    "all_to_all": ("alltoall_base_", "alltoall_"),
    "send": ("send",),
    "recv": ("recv_", "recv_any_source_"),
}
_KERNELS = {
    "AllReduce": "all_reduce",
    "AllGather": "all_gather",
    "ReduceScatter": "reduce_scatter",
    "Broadcast": "broadcast",
    "Reduce": "reduce",
    "SendRecv": "send and recv",
}
_TOGETHER = {"all_reduce", "all_gather", "reduce_scatter"}  # kernels that end on all ranks together
_NAMES = {operator: name for name, operators in _OPERATORS.items() for operator in operators}

#: Bus bandwidth per algorithm bandwidth, as (a, b) of a * (n - b) / n for n ranks; docs/concepts/measures.md has the
#: source. Others, such as barriers, have no bandwidth.
_FACTORS = {
    "all_reduce": (2, 1),
    **dict.fromkeys(("all_gather", "reduce_scatter", "all_to_all", "gather", "scatter"), (1, 1)),
    **dict.fromkeys(("broadcast", "reduce", "send", "recv"), (1, 0)),
}


def collective_name(operator: str) -> str:
    """Return ``all_reduce`` for ``allreduce_``."""
    return _NAMES.get(operator, operator)


def bus_factor(operator: str, ranks: int) -> float | None:
    """Return bus bandwidth per algorithm bandwidth of an operator in a group; None if it has no bandwidth."""
    a, b = _FACTORS.get(collective_name(operator), (0, 0))
    return a * (ranks - b) / ranks if a and ranks else None


class Split(NamedTuple):
    """A collective, divided; ns, summed over ranks. ``wait``: from the begin of a rank to that of the last one;
    ``transfer``: from there to the end of the rank."""

    last: int  # the rank that began last
    wait: int
    transfer: int


def split(begins: Mapping[int, int], ends: Mapping[int, int]) -> Split:
    """Divide a collective by its times on each rank, of one clock: no rank gets a result before the last one begins."""
    last = max(begins, key=lambda rank: begins[rank])
    begun = begins[last]
    return Split(last, sum(begun - each for each in begins.values()), sum(each - begun for each in ends.values()))


@dataclass
class Waits:
    """The collectives of one operator in a group with sizes between two powers of two, summed over ranks; times in ns.
    ``wait``, ``transfer``: see :class:`Split`. ``last``: how often a rank began last; ``caused``: the time that the
    others waited for it. ``bytes``: sum over collectives, of the rank with most. ``best_bandwidth``: the bus bandwidth
    of the fastest collective, bytes per second. ``undecided``: collectives without a split, by reason.

    Of kernels, which have an ``algorithm``, only the sums of each rank are recorded. Their ``wait`` and ``caused`` are
    lower bounds, ``transfer`` is an upper bound. ``last`` and ``best_bandwidth`` are not known."""

    operator: str
    group: str  # "": unknown
    ranks_in_group: int  # 0: unknown
    algorithm: str = ""
    ranks: int = 0  # recorded ones
    collectives: int = 0
    bytes: int = 0
    time_ns: int = 0  # of kernels also without a split
    wait_ns: int = 0
    transfer_ns: int = 0
    best_bandwidth: float | None = None
    last: Counter[int] = field(default_factory=Counter)
    caused_ns: Counter[int] = field(default_factory=Counter)
    undecided: Counter[str] = field(default_factory=Counter)

    @property
    def bus_bandwidth(self) -> float | None:
        return self._bandwidth(self.bytes, self.transfer_ns)

    def _bandwidth(self, moved: int, transfer: int) -> float | None:
        factor = bus_factor(self.operator, self.ranks_in_group)
        return moved * factor * self.ranks_in_group / transfer * 1e9 if factor and moved and transfer > 0 else None

    def add(self, one: Split, moved: int, count: int = 1) -> None:
        """Add a collective, or the sum of several."""
        self.collectives += count
        self.bytes += moved
        self.time_ns += one.wait + one.transfer
        self.wait_ns += one.wait
        self.transfer_ns += one.transfer
        self.caused_ns[one.last] += one.wait
        if self.algorithm:
            return
        self.last[one.last] += 1
        rates = (self.best_bandwidth, self._bandwidth(moved, one.transfer))
        self.best_bandwidth = max((rate for rate in rates if rate is not None), default=None)

    def as_json(self) -> dict[str, Any]:
        return {**vars(self), "bus_bandwidth": self.bus_bandwidth}


def uses_device(trace: Trace) -> bool:
    """Return whether collectives run on devices, so that times of the host are not those of transfers."""
    return any(key.startswith(_DEVICES) for key in trace.nodes["key"]) or bool(_collective_kernels(trace))


def waits(trace: Trace) -> list[Waits]:
    """Return the latest collectives of a trace of all ranks, by operator, group and size, the longest wait first; with
    kernels of NCCL, all of these instead, also by algorithm."""
    return kernel_waits(trace) or waits_of(group_calls([trace]), uses_device(trace))


def waits_of(groups: list[GroupCalls], device: bool = False) -> list[Waits]:
    """Return the collectives of groups, as :func:`waits`."""
    found: dict[tuple[str, str, int], Waits] = {}
    for group in groups:
        clocks = _clocks(group)
        whole = DEVICE if device else CLOCKS if clocks is None else "" if group.comparable() else NUMBERS
        for of in group.calls.values():
            moved = max(call.bytes for call in of.values())
            for operator in {call.operator for call in of.values()}:
                key = operator, group.name, moved.bit_length()
                row = found.setdefault(key, Waits(operator, group.name, group.size, ranks=group.size))
                if reason := whole or _undecided(group, of):
                    row.undecided[reason] += 1
                else:
                    row.add(_divided(of, clocks or {}), moved)
    return sorted(found.values(), key=lambda row: (-row.wait_ns, row.group, row.operator, row.bytes))


def _divided(of: dict[int, CollectiveCall], clocks: Mapping[int, int]) -> Split:
    begins = {rank: call.begin - clocks.get(rank, 0) for rank, call in of.items()}
    return split(begins, {rank: (call.end or call.begin) - clocks.get(rank, 0) for rank, call in of.items()})


def _undecided(group: GroupCalls, of: dict[int, CollectiveCall]) -> str:
    calls = list(of.values())
    if len(of) != group.size or len({call.operator for call in calls}) != 1:
        return RANKS
    if calls[0].operator not in SYNCHRONIZING:
        return PARTIAL
    if any(call.asynchronous for call in calls):
        return ASYNC
    return ENDS if any(call.end is None for call in calls) else ""


def _clocks(group: GroupCalls) -> dict[int, int] | None:
    """Return the offset of the clock of each rank, ns; None if it is not known. All ranks leave a collective together:
    the offset of a host is the median difference of the ends."""
    if group.one_clock:
        return {}
    if len(set(group.counts.values())) != 1:
        return None  # equal numbers may be different collectives
    first = group.hosts[min(group.hosts)]
    offsets: dict[str, list[float]] = {}
    for of in group.calls.values():
        if not _undecided(group, of):
            ends: dict[str, list[int]] = {}
            for rank, call in of.items():
                ends.setdefault(group.hosts[rank], []).append(call.end or 0)
            for host, times in ends.items():
                offsets.setdefault(host, []).append(median(times) - median(ends[first]))
    if any(len(offsets.get(host, ())) < _LEAST for host in group.hosts.values()):
        return None
    return {rank: round(median(offsets[host])) for rank, host in group.hosts.items()}


def _collective_kernels(trace: Trace) -> dict[int, tuple[str, str]]:
    """Return operator and algorithm of the call paths that are kernels of collectives."""
    names = [collective_kernel(key) if kind == "kernel" else None for key, kind in rows(trace.nodes, "key kind")]
    found = ((row, names[node]) for row, node in enumerate(trace.contexts["node"]))
    return {row: (_KERNELS.get(name[0], name[0]), name[1] or "?") for row, name in found if name is not None}


def kernel_waits(trace: Trace) -> list[Waits]:
    """Return the kernels of collectives, by operator, algorithm, group and size, the longest wait first. All ranks
    leave a collective together: the others waited for the rank with the shortest kernels."""
    kernels = _collective_kernels(trace)
    calls = _calls_of(trace, kernels)
    found: dict[tuple[str, str, str, int], dict[int, list[int]]] = {}
    for rank in trace.ranks if kernels else ():
        for row, count, time in rows(rank.get("gpu") or {}, "context calls self"):
            if row in kernels and count:
                group, moved = calls[row]
                ranks = found.setdefault((*kernels[row], group, moved.bit_length()), {})
                sums = ranks.setdefault(rank["rank"], [0, 0, 0])
                sums[:] = (a + b for a, b in zip(sums, (count, time, moved * count), strict=True))
    steps = {(rank["steps"], rank["run_steps"], *rank["latest_steps"]["number"]) for rank in trace.ranks}
    made = [_kernel_row(*key[:3], ranks, len(steps) == 1) for key, ranks in found.items()]
    return sorted(made, key=lambda row: (-row.wait_ns, -row.time_ns, row.group, row.operator, row.algorithm))


def _kernel_row(operator: str, algorithm: str, group: str, ranks: dict[int, list[int]], together: bool) -> Waits:
    name, _, members = group.rpartition(":")
    row = Waits(operator, name, number_of_members(members), algorithm, len(ranks))
    counts = [count for count, _, _ in ranks.values()]
    if not name:
        reason = GROUP
    elif operator not in _TOGETHER:
        reason = PARTIAL
    else:
        complete = together and len(ranks) == row.ranks_in_group and len(set(counts)) == 1
        reason = "" if complete else STEPS
    if reason:
        row.undecided[reason] = max(counts)
        row.time_ns = sum(time for _, time, _ in ranks.values())
        row.bytes = max(moved for _, _, moved in ranks.values())
    else:
        one = split({rank: -time for rank, (_, time, _) in ranks.items()}, dict.fromkeys(ranks, 0))
        row.add(one, max(moved for _, _, moved in ranks.values()), counts[0])
    return row


def _calls_of(trace: Trace, kernels: Mapping[int, object]) -> dict[int, tuple[str, int]]:
    """Return for each kernel the group and the mean bytes of the calls that launch it; ``("", 0)`` if not known."""
    calls: dict[int, dict[str, list[int]]] = {}
    for (context, detail, _), (_, count, *both) in communicated(trace.ranks).items():
        sums = calls.setdefault(context, {}).setdefault(detail.partition(" ")[2], [0, 0])
        sums[:] = sums[0] + count, sums[1] + max(both)
    found = {}
    for row in kernels:
        above = trace.contexts["parent"][row]
        while above >= 0 and above not in calls:
            above = trace.contexts["parent"][above]
        groups = calls.get(above, {})
        (group, (count, moved)), *others = [*groups.items()] or [("", [0, 0])]
        if others or group.startswith("?"):
            group, count = "", 0
        one_each = count > 0 and count == trace.contexts["gpu_calls"][row]
        found[row] = (group, moved // count if one_each else 0)
    return found


@dataclass
class BackEnd:
    """Calls of one operator in the records of the back end, summed over ranks: the time from its start on the back
    end's thread to its completion, also of asynchronous calls. ``bytes``: the larger of sent and received. With it,
    calls and time are those of the measured calls; it is None if the records are not those of the operators."""

    name: str
    calls: int
    time_ns: int
    bytes: int | None


def back_ends(trace: Trace) -> Iterator[BackEnd]:
    """Yield the operators for which the back end has a record of each call."""
    bytes_of: Counter[str] = Counter()
    measured: Counter[str] = Counter()
    for rank in trace.ranks:
        for kind, context, count, sent, got in rows(rank.get("measures") or {}, "kind context count sum other"):
            if kind == "comm":
                operator = trace.nodes["key"][trace.contexts["node"][context]].removeprefix("c10d::")
                measured[operator] += count
                bytes_of[operator] += max(sent, got)
    calls: Counter[str] = Counter()
    times: Counter[str] = Counter()
    for node, count, time in rows(trace.contexts, "node calls async"):
        key = trace.nodes["key"][node]
        if key.startswith(("gloo:", "c10d::")):
            calls[key] += count
            times[key] += time
    for key in sorted(key for key in calls if key.startswith("gloo:")):
        operators = _OPERATORS.get(key.removeprefix("gloo:"), ())
        some = sum(measured[name] for name in operators)
        if some and calls[key] == sum(calls[f"c10d::{name}"] for name in operators):
            moved = sum(bytes_of[name] for name in operators)
            yield BackEnd(key, some, round(times[key] * some / calls[key]), moved)
        else:
            yield BackEnd(key, calls[key], times[key], None)
