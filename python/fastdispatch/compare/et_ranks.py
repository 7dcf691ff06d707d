"""Comparison of the execution traces of many ranks: whether all ranks of each process group have its collectives in the
same order and of the same size, and whether each message has a sender and a receiver. A mismatch is a hang."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from fastdispatch.read.execution_trace import COLLECTIVES, SEND

#: Maximum number of reported mismatches.
MOST = 1000

#: Collectives in which ranks may send parts of different sizes.
_MAY_DIFFER = {COLLECTIVES.index(name) for name in ("GATHER", "SCATTER", "ALL_TO_ALL", "BARRIER")}
_RECEIVE, _COLLECTIVE = SEND + 1, SEND + 2


@dataclass(frozen=True)
class Communication:
    """One communication of a rank."""

    id: int  #: of the node
    name: str
    group: str
    bytes: int  #: -1: unknown
    type: int  #: SEND, ...
    collective: int  #: Chakra's number; -1: unknown
    peer: int  #: of a message; -1: unknown


@dataclass
class RankCalls:
    """The communication of one rank, in the order of the program."""

    rank: int  #: -1: unknown
    calls: list[Communication]
    groups: set[str]  #: of which the rank is a member
    by_group: dict[str, list[Communication]] = field(default_factory=dict)
    by_peer: dict[tuple[int, int], list[Communication]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for call in self.calls:
            if call.type == _COLLECTIVE:
                self.by_group.setdefault(call.group, []).append(call)
            else:
                self.by_peer.setdefault((call.type, call.peer), []).append(call)


def rank_calls(found: dict[str, Any]) -> RankCalls:
    """Return the communication of a trace: of what ``et_tables()`` returns."""
    rank = -1 if found["rank"] is None else found["rank"]
    nodes, comms, texts = (found["tables"][name] for name in ("nodes", "comms", "texts"))
    calls = []
    for node, comm in enumerate(nodes["comm"]):
        type = nodes["type"][node]
        if comm and type >= SEND:
            of = {name: column[comm - 1] for name, column in comms.items()}
            peer = of["dst"] if type == SEND else of["src"]
            name, group = texts[nodes["name"][node]], texts[of["group"]]
            calls.append(Communication(nodes["id"][node], name, group, of["bytes"], type, of["type"], peer))
    listed = [(group["name"], re.findall("[0-9]+", group["ranks"])) for group in found["groups"]]
    groups = {name for name, members in listed if not members or rank in map(int, members)}
    return RankCalls(rank, calls, groups)


def compare_ranks(ranks: list[RankCalls]) -> dict[str, Any]:
    """Return the numbers of ``collectives`` and ``messages`` that match, of messages with ``unknown_peers``, and the
    first mismatch of each group and of each pair of ranks, which causes the later ones."""
    collectives = messages = 0
    mismatches: list[dict[str, Any]] = []
    for group in dict.fromkeys(group for rank in ranks for group in rank.by_group):
        number, mismatch = _compare_group(ranks, group)
        collectives += number
        mismatches += mismatch
    for start, end in _pairs(ranks):
        number, mismatch = _compare_pair(start, end)
        messages += number
        mismatches += mismatch
    unknown = sum(call.peer < 0 for rank in ranks for call in rank.calls if call.type != _COLLECTIVE)
    matching = {"collectives": collectives, "messages": messages, "unknown_peers": unknown}
    return matching | {"mismatches": mismatches[:MOST]}


def _compare_group(ranks: list[RankCalls], group: str) -> tuple[int, list[dict[str, Any]]]:
    # Ranks that never use the group are not members.
    members = [rank for rank in ranks if group in rank.by_group or group in rank.groups]
    for at in count():
        having = [rank for rank in members if at < len(rank.by_group.get(group, ()))]
        if not having:
            return at, []
        first = having[0].by_group[group][at]
        for rank in having[1:]:
            call = rank.by_group[group][at]
            if call.collective != first.collective:
                return at, [_mismatch("kind", group, at, (having[0], first), (rank, call))]
            if call.collective >= 0 and call.collective not in _MAY_DIFFER and _sizes_differ(first, call):
                return at, [_mismatch("size", group, at, (having[0], first), (rank, call))]
        ended = [rank for rank in members if at >= len(rank.by_group.get(group, ()))]
        if ended:
            return at, [_mismatch("missing", group, at, (having[0], first), (ended[-1], None))]
    raise AssertionError("unreachable")


def _sizes_differ(one: Communication, other: Communication) -> bool:
    return one.bytes >= 0 and other.bytes >= 0 and one.bytes != other.bytes


def _pairs(ranks: list[RankCalls]) -> list[tuple[RankCalls, RankCalls]]:
    """Return all pairs of sender and receiver that exchange messages and whose traces are there."""
    by_rank = {rank.rank: rank for rank in reversed(ranks)}
    pairs: dict[tuple[int, int], tuple[RankCalls, RankCalls]] = {}
    for rank in ranks:
        for call in rank.calls:
            other = by_rank.get(call.peer) if call.peer >= 0 and call.type != _COLLECTIVE else None
            if other is not None:
                pair = (rank, other) if call.type == SEND else (other, rank)
                pairs.setdefault((id(pair[0]), id(pair[1])), pair)
    return [*pairs.values()]


def _compare_pair(start: RankCalls, end: RankCalls) -> tuple[int, list[dict[str, Any]]]:
    """Compare the messages from one rank to another, in order. Tags are not compared."""
    sent = start.by_peer.get((SEND, end.rank), [])
    taken = end.by_peer.get((_RECEIVE, start.rank), [])
    for at in range(max(len(sent), len(taken))):
        one = sent[at] if at < len(sent) else None
        other = taken[at] if at < len(taken) else None
        what = "send" if one is None else "receive" if other is None else ""
        if one is not None and other is not None and _sizes_differ(one, other):
            what = "message_size"
        if what:
            return at, [_mismatch(what, "", at, (start, one), (end, other))]
    return len(sent), []


#: A rank, and its call if it has one.
_End = tuple[RankCalls, Communication | None]


def _mismatch(what: str, group: str, at: int, one: _End, other: _End) -> dict[str, Any]:
    ends = {}
    for name, (rank, call) in (("one", one), ("other", other)):
        about = {key: None if call is None else getattr(call, key) for key in ("id", "name", "bytes")}
        ends[name] = about | {"rank": rank.rank}
    return {"what": what, "group": group, "number": at + 1, **ends}
