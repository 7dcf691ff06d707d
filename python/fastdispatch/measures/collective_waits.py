"""Time of collectives, split into waiting for the last rank and transfer (docs/concepts/measures.md)."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from fastdispatch.read.collectives import SYNCHRONIZING, CollectiveCall, GroupCalls, group_calls
from fastdispatch.read.trace import Trace

#: Back ends whose functions return before the transfer: only the device waits.
_DEVICES = ("nccl:", "xccl:", "hccl:")

#: Why a collective has no split.
ASYNC, ENDS, RANKS, CLOCKS, DEVICE, PARTIAL, NUMBERS = (
    "asynchronous, or called by C++ code",
    "without a known end",
    "not kept on all ranks of the group",
    "on hosts with different clocks",
    "on a device, for which the host does not wait",
    "of an operator in which not all ranks wait for the last one",
    "with numbers that cannot be compared",
)


@dataclass
class Waits:
    """The collectives of one operator in a group, summed over ranks; times in ns. ``wait``: from a rank's begin to that
    of the last rank; ``transfer``: from there to the rank's end. ``last``: how often a rank began last; ``caused``: the
    time that the others waited for it. ``undecided``: collectives without a split, by reason."""

    operator: str
    group: str
    ranks_in_group: int
    collectives: int = 0
    wait_ns: int = 0
    transfer_ns: int = 0
    last: Counter[int] = field(default_factory=Counter)
    caused_ns: Counter[int] = field(default_factory=Counter)
    undecided: Counter[str] = field(default_factory=Counter)


def uses_device(trace: Trace) -> bool:
    """Return whether collectives run on devices, so that times of the host are not those of transfers."""
    return any(key.startswith(_DEVICES) for key in trace.nodes["key"])


def waits(trace: Trace) -> list[Waits]:
    """Return the latest collectives of a trace of all ranks, by operator and group, the longest wait first."""
    found: dict[tuple[str, str], Waits] = {}
    for group in group_calls([trace]):
        whole = _reason(group, uses_device(trace))
        for of in group.calls.values():
            for operator in {call.operator for call in of.values()}:
                row = found.setdefault((operator, group.name), Waits(operator, group.name, group.size))
                reason = whole or _undecided(group, of)
                if reason:
                    row.undecided[reason] += 1
                else:
                    _add(row, of)
    return sorted(found.values(), key=lambda row: (-row.wait_ns, row.group, row.operator))


def _reason(group: GroupCalls, device: bool) -> str:
    if device:
        return DEVICE
    if not group.one_clock:
        return CLOCKS
    return "" if group.comparable() else NUMBERS


def _undecided(group: GroupCalls, of: dict[int, CollectiveCall]) -> str:
    calls = list(of.values())
    if len(of) != group.size or len({call.operator for call in calls}) != 1:
        return RANKS
    if calls[0].operator not in SYNCHRONIZING:
        return PARTIAL
    if any(call.asynchronous for call in calls):
        return ASYNC
    return ENDS if any(call.end is None for call in calls) else ""


def _add(row: Waits, of: dict[int, CollectiveCall]) -> None:
    last = max(of, key=lambda rank: of[rank].begin)
    begun = of[last].begin
    waited = sum(begun - call.begin for call in of.values())
    row.collectives += 1
    row.wait_ns += waited
    row.transfer_ns += sum((call.end or begun) - begun for call in of.values())
    row.last[last] += 1
    row.caused_ns[last] += waited


@dataclass
class BackEnd:
    """Calls of one operator in the records of the back end, summed over ranks: the time from its start on the back
    end's thread to its completion, also of asynchronous calls. ``bytes``: the larger of sent and received. With it,
    calls and time are those of the measured calls; it is None if the records are not those of the operators."""

    name: str
    calls: int
    time_ns: int
    bytes: int | None


#: Operators of c10d by the names of the back ends' records.
_RECORDS = {
    "all_reduce": ("allreduce_", "allreduce_coalesced_"),
    "all_gather": ("allgather_",),
    "broadcast": ("broadcast_",),
    "reduce": ("reduce_",),
    "gather": ("gather_",),
    "scatter": ("scatter_",),
    "all_to_all": ("alltoall_base_", "alltoall_"),
}


def back_ends(trace: Trace) -> Iterator[BackEnd]:
    """Yield the operators for which the back end has a record of each call."""
    bytes_of: Counter[str] = Counter()
    measured: Counter[str] = Counter()
    for rank in trace.ranks:
        of = rank.get("measures") or {}
        names = ("kind", "context", "count", "sum", "other")
        for kind, context, count, sent, got in zip(*(of.get(name, ()) for name in names), strict=True):
            if kind == "comm":
                operator = trace.nodes["key"][trace.contexts["node"][context]].removeprefix("c10d::")
                measured[operator] += count
                bytes_of[operator] += max(sent, got)
    calls: Counter[str] = Counter()
    times: Counter[str] = Counter()
    columns = (trace.contexts[name] for name in ("node", "calls", "async"))
    for node, count, time in zip(*columns, strict=True):
        key = trace.nodes["key"][node]
        if key.startswith(("gloo:", "c10d::")):
            calls[key] += count
            times[key] += time
    for key in sorted(key for key in calls if key.startswith("gloo:")):
        operators = _RECORDS.get(key.removeprefix("gloo:"), ())
        some = sum(measured[name] for name in operators)
        if some and calls[key] == sum(calls[f"c10d::{name}"] for name in operators):
            moved = sum(bytes_of[name] for name in operators)
            yield BackEnd(key, some, round(times[key] * some / calls[key]), moved)
        else:
            yield BackEnd(key, calls[key], times[key], None)
