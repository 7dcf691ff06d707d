"""Collectives and messages of a trace, for the alignment of clocks: from the events that may belong to them, or from
the calls of a recording in memory."""

import json
from enum import IntEnum
from functools import lru_cache
from hashlib import blake2b
from typing import Any

import numpy as np

from fastdispatch import _core
from fastdispatch.read.arrays import Rows
from fastdispatch.read.event_rows import ROW, Has, Pairs, has_times, whole_slices
from fastdispatch.read.timeline_members import whole

#: The first one in a name counts. No rank can end one before all ranks have begun it, except a broadcast.
_OPERATIONS = (
    *("reducescatterblock", "reducescatter", "allreduce", "allgather", "alltoall"),
    *("broadcast", "barrier"),
)
_KERNELS = ("ncclDev", "ncclKernel")
_BEGINS = ("gloo:", *_KERNELS, "c10d::", "send", "rec")
_RANKS, _MASK = (1 << 21) - 1, (1 << 32) - 1
#: The positions of peer and tag in the inputs of operators.
_PEER, _TAG = 2, 3
#: Slices of a trace; calls of a recording.
_MOST = 1 << 19
_CALLS = (1, 2)

_COLUMNS = ("event", "kind", "match", "number", "flags", "start", "end")


class What(IntEnum):
    NOTHING = 0
    PART = 1  # of a collective
    SENT = 2
    RECEIVED = 3
    OPERATOR = 4  # of PyTorch; so are the next two
    SENDING = 5
    RECEIVING = 6  # it ends with the range inside
    ARRIVAL = 7  # the range of a back end inside it


_MESSAGES = [What.SENT, What.RECEIVED, What.SENDING]


class SyncEvents:
    """Receives events that may be of collectives and messages: ``type`` has their arguments of use, and ``number`` the
    order of a collective."""

    def __init__(self) -> None:
        self._pairs = Pairs()
        self._parts: list[list[Rows]] = []
        self._held = 0
        self._any = False

    def take(self, batch: bytearray, texts: list[str]) -> bool:
        """Add rows with the texts of this batch. Return whether there is a collective or a message."""
        rows = np.frombuffer(batch, ROW)
        texts = ["", *texts]
        begins = np.flatnonzero(np.isin(rows["phase"], [ord(phase) for phase in "XBb"]))
        subject = rows["name"][begins].astype(np.uint64) << np.uint64(32) | rows["type"][begins]
        subjects, of = np.unique(subject, return_inverse=True)
        found = [described(texts[each >> 32], texts[each & _MASK]) for each in subjects.tolist()]
        what, key, peer = np.array(found, np.uint64).reshape(-1, 3)[of].T
        rows["kind"][begins], rows["match"][begins] = what, key
        rows["number"][begins] = np.where(what == What.PART, rows["number"][begins], peer)
        slices = whole_slices(rows[has_times(rows)], self._pairs)
        slices = slices[slices["kind"] != What.NOTHING][: _MOST - self._held]
        self._parts.append([slices[column] for column in _COLUMNS])
        self._held += len(slices)
        self._any |= not np.isin(slices["kind"], [What.OPERATOR, What.ARRIVAL]).all()
        return self._any

    def columns(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the parts in collectives, and the messages."""
        event, what, key, number, flags, start, end = map(np.concatenate, zip(*self._parts, strict=True))
        part, message = what == What.PART, np.isin(what, _MESSAGES)
        parts = {"kind": key, "order": number, "exact": flags & Has.NUMBER != 0, "begin": start, "end": end}
        of_operators = np.flatnonzero(what >= What.OPERATOR)
        of_operators = of_operators[np.argsort(event[of_operators], kind="stable")]
        outer, inner = of_operators[:-1], of_operators[1:]
        pair = (what[outer] == What.RECEIVING) & (what[inner] == What.ARRIVAL)
        pair &= (start[inner] >= start[outer]) & (start[inner] <= end[outer])
        of, last = np.r_[np.flatnonzero(message), outer[pair]], np.r_[end[message], end[inner[pair]]]
        received = np.isin(what[of], [What.RECEIVED, What.RECEIVING])
        time = np.where(received, last, start[of])
        messages = {"peer": number[of].astype(np.uint32), "received": received, "tag": key[of], "time": time}
        return {name: column[part] for name, column in parts.items()}, messages


@lru_cache(1 << 12)
def described(name: str, text: str) -> tuple[int, int, int]:
    """Return what a slice is, by its name and its arguments; a hash of the kind of a collective or the tag of a
    message; the rank of the peer. On a GPU the kernel is used, not the call or range that launched it."""
    if name == "gloo:recv":
        return What.ARRIVAL, 0, 0
    if not name.startswith(_BEGINS):
        return What.NOTHING, 0, 0
    try:
        given = json.loads(text or "{}", parse_int=str, parse_float=str, strict=False)
    except (ValueError, RecursionError):
        given = None
    args: dict[str, Any] = given if isinstance(given, dict) else {}
    if name.startswith("c10d::"):
        return _of_operator(name, args)
    if operation := operation_of(name):
        size = args.get("Input Dims" if name.startswith("gloo:") else "In msg nelems")
        return What.PART, hashed(repr((operation, args.get("Process Group Name"), size))), 0
    if name.startswith(_KERNELS):  # PyTorch adds the peer
        received = "Dst Rank" not in args
        peer, tag = args.get("Src Rank" if received else "Dst Rank"), None
    else:
        received = name.startswith("rec")
        known = received or name.startswith("send")
        peer, tag = args.get("peer") if known else None, args.get("tag", args.get("micro_batch"))
    rank = whole(peer, _RANKS)
    if rank is None:
        return What.NOTHING, 0, 0
    return What.RECEIVED if received else What.SENT, hashed(str(tag)), rank


def _of_operator(name: str, args: dict[str, Any]) -> tuple[int, int, int]:
    """Describe a send or receive of PyTorch. The peer is in the arguments."""
    what = {"c10d::send": What.SENDING}.get(name, What.RECEIVING if name.startswith("c10d::recv_") else What.OPERATOR)
    inputs = args.get("Concrete Inputs")
    if what == What.OPERATOR or inputs is None:  # without recorded shapes
        return what, 0, _MASK
    given = inputs if isinstance(inputs, list) else []
    rank = whole(given[_PEER], _RANKS) if len(given) > _PEER else None
    if rank is None:
        return What.OPERATOR, 0, 0
    return what, hashed(str(given[_TAG] if len(given) > _TAG else None)), rank


def operation_of(name: str) -> str:
    """Return the collective of a range of Gloo or a kernel of NCCL that waits for all ranks, or an empty text."""
    plain = name.lower().replace("_", "")
    found = next((each for each in _OPERATIONS if each in plain), "broadcast")
    return found if found != "broadcast" and name.startswith(("gloo:", *_KERNELS)) else ""


def hashed(text: str) -> int:
    """Return a hash that is equal in all processes."""
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogateescape"), digest_size=8).digest(), "little")


def kinds_of_contexts(trace: _core.Trace) -> list[int]:
    """Return the kind of the collective of each context of a trace in memory, by its row plus 1; 0: none."""
    operations = map(operation_of, trace.columns("nodes")["name"])
    kinds = [hashed(repr((each, None, None))) if each else 0 for each in operations]
    return [0, *(kinds[node] if node >= 0 else 0 for node in trace.columns("contexts")["node"])]


def collectives_of(trace: _core.Trace, index: int, kinds: list[int]) -> dict[str, Any]:
    """Return the parts of a rank of a trace in memory. ``kinds``: those of contexts."""
    calls = {name: np.asarray(column) for name, column in trace.arrays("events", index).items()}
    kind = np.array(kinds, np.uint64)[np.where(np.isin(calls["kind"], _CALLS), calls["context"], 0)]
    rows = np.flatnonzero(kind)
    begin, last = (calls[name][rows].astype(np.int64) for name in ("start", "duration"))
    exact = np.zeros(len(rows), np.bool_)
    return {"kind": kind[rows], "order": exact.astype(np.uint64), "exact": exact, "begin": begin, "end": begin + last}
