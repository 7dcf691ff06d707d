"""The latest collectives of each process group, compared between ranks (docs/concepts/measures.md)."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from fastdispatch.read.columns import rows
from fastdispatch.read.summary import mapping
from fastdispatch.read.trace import Trace
from fastdispatch.text.formats import counted, printable, seconds, size, spans

#: FD_MEASURE_ASYNC, FD_MEASURE_OPEN
_ASYNC, _OPEN = 2, 8

#: Operators that have the same type and bytes on every rank.
_EQUAL = {"allreduce_", "reduce_", "broadcast_", "_allgather_base_", "_reduce_scatter_base_"}

#: Operators that no rank ends before the last one has begun.
SYNCHRONIZING = {"allreduce_", "allgather_", "_allgather_base_", "_reduce_scatter_base_", "barrier", "alltoall_base_"}


COUNTED = "numbers of collectives are counted from the start of the recordings"


@dataclass(frozen=True)
class CollectiveCall:
    """A collective of one rank; times in ns of the host's monotonic clock, ``end`` None if it is unknown."""

    context: int
    operator: str
    type: str
    bytes: int
    asynchronous: bool
    open: bool
    begin: int
    end: int | None

    @property
    def signature(self) -> tuple[str, ...]:
        return (self.operator, self.type, str(self.bytes)) if self.operator in _EQUAL else (self.operator,)

    def __str__(self) -> str:
        return f"{self.operator} ({self.type}, {size(self.bytes)})" if self.bytes else self.operator


@dataclass
class GroupCalls:
    """A process group: collectives so far of each rank, and the latest ones by number and rank. ``hosts``: boot ids."""

    name: str
    size: int
    counts: dict[int, int] = field(default_factory=dict)
    calls: dict[int, dict[int, CollectiveCall]] = field(default_factory=dict)
    hosts: dict[int, str] = field(default_factory=dict)

    @property
    def one_clock(self) -> bool:
        return len(set(self.hosts.values())) == 1

    def comparable(self) -> bool:
        """Return False if equal numbers are different collectives: one ended before another rank began it."""
        for of in self.calls.values():
            if self.one_clock and len({call.operator for call in of.values()} & SYNCHRONIZING) == 1:
                ends = [call.end for call in of.values() if call.end is not None]
                if ends and len(of) > 1 and min(ends) < max(call.begin for call in of.values()):
                    return False
        return True


def group_calls(traces: Iterable[Trace]) -> list[GroupCalls]:
    """Return the groups by name; empty without ``measure="comm"``."""
    groups: dict[str, GroupCalls] = {}
    ranks: dict[int, str] = {}
    for trace in traces:
        for rank in trace.ranks:
            ranks[rank["rank"]] = rank["boot_id"]
            _add_rank(groups, trace, rank)
    for group in groups.values():
        if group.size == len(ranks):  # the others have called none
            group.counts = {number: group.counts.get(number, 0) for number in ranks}
        group.hosts = {number: ranks[number] for number in group.counts}
    return [groups[name] for name in sorted(groups)]


def compared_groups(traces: Iterable[Trace]) -> list[GroupCalls]:
    """Return the groups whose numbers count the collectives of all steps: empty if a rank measured or recorded
    some steps."""
    traces = list(traces)
    ranks = [rank for trace in traces for rank in trace.ranks]
    complete = all(mapping(mapping(rank["meta"].get("options")).get("measure")).get("comm", 1) == 1 for rank in ranks)
    return group_calls(traces) if complete and not _skipped_steps(traces) else []


def _skipped_steps(traces: Iterable[Trace]) -> bool:
    """Return whether a budget skipped steps: ranks have recorded different ones."""
    return any(rank["run_steps"] > rank["steps"] for trace in traces for rank in trace.ranks)


def _add_rank(groups: dict[str, GroupCalls], trace: Trace, rank: dict[str, Any]) -> None:
    names = "kind context detail flags count sum max other"
    for kind, context, detail, flags, count, begin, end, moved in rows(rank.get("measures") or {}, names):
        if kind == "collectives":
            group = _group(groups, detail)
            group.counts[rank["rank"]] = group.counts.get(rank["rank"], 0) + count
        elif kind == "latest":
            element, _, text = detail.partition(" ")
            start = rank["start_monotonic"]
            call = CollectiveCall(
                context,
                trace.nodes["key"][trace.contexts["node"][context]].removeprefix("c10d::"),
                element,
                moved,
                bool(flags & _ASYNC),
                bool(flags & _OPEN),
                start + begin,
                start + end if end else None,
            )
            _group(groups, text).calls.setdefault(count, {})[rank["rank"]] = call


def _group(groups: dict[str, GroupCalls], text: str) -> GroupCalls:
    name, _, members = text.rpartition(":")
    return groups.setdefault(text, GroupCalls(name, number_of_members(members)))


def number_of_members(text: str) -> int:
    """Return the number at the end of the name of a group, 0 of a damaged one."""
    return int(text) if text.isdecimal() and len(text) < 20 else 0


def differences(groups: Iterable[GroupCalls], now: Mapping[int, int] | None = None) -> Iterator[str]:
    """Yield a sentence for each collective that some ranks have not called, and for the first one in which ranks call
    different operators. ``now``: moment of each rank (ns), for the time since a call began."""
    for group in groups:
        if not group.comparable():
            yield (
                f"group {printable(group.name)}: the collectives of its ranks cannot be compared by number: their "
                "recordings began or were paused at different ones"
            )
            continue
        yield from mismatches(group)
        for count in sorted(set(group.counts.values()))[:-1][:3]:
            yield _missing(group, count, now)


def mismatches(group: GroupCalls) -> Iterator[str]:
    for number, of in sorted(group.calls.items()):
        if len({call.signature for call in of.values()}) > 1:
            kinds: dict[str, list[int]] = {}
            for rank, call in of.items():
                kinds.setdefault(str(call), []).append(rank)
            texts = ", ".join(f"{kind} on {_ranks(ranks)}" for kind, ranks in kinds.items())
            yield f"ranks call different collectives as no. {number} of group {printable(group.name)}: {texts}"
            return


def _missing(group: GroupCalls, count: int, now: Mapping[int, int] | None) -> str:
    behind = [rank for rank, called in group.counts.items() if called == count]
    ahead = [rank for rank, called in group.counts.items() if called > count]
    have = "has" if len(behind) == 1 else "have"
    known = group.calls.get(count + 1, {})
    calls = {rank: known[rank] for rank in ahead if rank in known}
    head = f"{_ranks(behind)} {have} not called"
    name = printable(group.name)
    if not calls:
        return f"{head} collective no. {count + 1} of group {name}, {_ranks(ahead)} have called it"
    first = min(calls, key=lambda rank: calls[rank].begin)
    ago = "" if now is None else seconds(max(now[first] - calls[first].begin, 0))
    waits = [rank for rank, call in calls.items() if call.open]
    what = f"{head} {calls[first]} no. {count + 1} of group {name}"
    if waits:
        verb = "waits" if len(waits) == 1 else "wait"
        return f"{what}, in which {_ranks(waits)} {verb}{f', the first call for {ago}' if ago else ''}"
    return f"{what}, which {_ranks(list(calls))} called{f', the first {ago} ago' if ago else ''}"


def _ranks(ranks: list[int]) -> str:
    return f"rank{'s' * (len(ranks) != 1)} {spans(sorted(ranks))}"


def operator_differences(traces: Iterable[Trace]) -> Iterator[str]:
    """Yield a sentence for each collective of c10d whose calls differ between ranks, over all groups: for recordings
    without ``measure="comm"``. None if a budget skipped steps."""
    traces = list(traces)
    if _skipped_steps(traces):
        return
    counts: dict[str, dict[int, int]] = {}
    ranks = []
    for trace in traces:
        for index, rank in enumerate(trace.ranks):
            ranks.append(rank["rank"])
            for node, calls in rows(trace.core.table("node", index), "node calls"):
                key = trace.nodes["key"][node]
                if key.startswith("c10d::") and not key.startswith(("c10d::send", "c10d::recv")):
                    counts.setdefault(key, {})[rank["rank"]] = calls
    for key, of in sorted(counts.items()):
        calls = {rank: of.get(rank, 0) for rank in ranks}
        if len(set(calls.values())) > 1:
            texts = [
                f"{counted(count, 'call')} on {_ranks([rank for rank in ranks if calls[rank] == count])}"
                for count in sorted(set(calls.values()))
            ]
            yield f"{printable(key)}, all groups: {', '.join(texts)}"
