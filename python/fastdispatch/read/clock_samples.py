"""Numbers of the collectives and messages of a trace, and an even sample of them for the alignment of clocks.

Every rank numbers and selects them in the same way, so that the samples of ranks have entries in common.
"""

import json
from typing import Any

from fastdispatch.read.clock_maps import MOST

MomentColumns = dict[str, Any]

#: Collectives, and messages: of all inputs together, and bounds of one input.
_ALL, _LEAST, _MOST = 1 << 20, 128, 1 << 12
_UNKNOWN = (1 << 32) - 1  # a rank
#: Bounds of pings, of their ranks, and of the length of the id of a boot.
_MOST_PINGS, _RANKS, _BOOT_ID = 4096, 1 << 21, 32


def no_moments() -> dict[str, MomentColumns]:
    """Return the columns of no parts of collectives, and of no messages."""
    parts = dict.fromkeys(("kind", "order", "exact", "begin", "end"), ())
    return {"parts": parts, "messages": dict.fromkeys(("peer", "received", "tag", "time"), ())}


def share_of(inputs: int) -> int:
    """Return the maximum of collectives, and of messages, of each of ``inputs`` traces; 0 for a single one."""
    return min(max(_ALL // inputs, _LEAST), _MOST) if inputs > 1 else 0


def sample(facts: dict[str, Any], most: int, other: int | None = None) -> dict[str, Any]:
    """Number the ``parts`` and ``messages`` of facts about a clock (``clock_alignment.ClockFacts``), keep ``most`` of
    each, and read its member ``clock``. Messages to an unknown rank are those to ``other``, the only other rank, or
    dropped."""
    _read_clock(facts, facts.pop("clock"))
    parts, messages = facts["parts"], facts["messages"]
    if len(parts["kind"]) or len(messages["peer"]):
        import numpy as np

        parts, messages = ({name: np.asarray(column) for name, column in each.items()} for each in (parts, messages))
        unknown = messages["peer"] == _UNKNOWN
        messages["peer"] = np.where(unknown, other or 0, messages["peer"]).astype(np.uint32)
        if other is None:
            messages = {name: column[~unknown] for name, column in messages.items()}
    exact = parts.pop("exact")
    facts["parts"] = _sampled(parts, ("kind",), "begin", exact, most)
    facts["messages"] = _sampled(messages, ("peer", "received", "tag"), "time", None, most)
    return facts


def _read_clock(facts: dict[str, Any], text: bytes) -> None:
    """Set the pings (peer, and the times when one was sent, replied and received, by clocks since the boot of their
    machines), and what is unknown of the boot."""
    try:
        clock = json.loads(text or b"{}")
    except (ValueError, RecursionError):
        clock = {}
    given = clock.get("pings")
    rows = [row[:4] for row in given if _is_ping(row)][:_MOST_PINGS] if isinstance(given, list) else []
    names = ("peer", "sent", "replied", "received")
    facts["pings"] = {name: [row[at] for row in rows] for at, name in enumerate(names)}
    boot, time = clock.get("boot_id"), clock.get("boottime_ns")
    if facts["boot"] is None and isinstance(boot, str) and 0 < len(boot) <= _BOOT_ID and _is_time(time):
        facts |= {"boot": boot.encode(), "boottime": time}


def _is_ping(row: Any) -> bool:
    return isinstance(row, list) and len(row) > 3 and all(map(_is_time, row[:4])) and 0 <= row[0] < _RANKS


def _is_time(value: Any) -> bool:
    return type(value) is int and abs(value) <= MOST


def _sampled(columns: MomentColumns, keys: tuple[str, ...], time: str, exact: Any, most: int) -> MomentColumns:
    """Number rows with equal keys by time: ``order``, and ``total``, their number. Rows that are ``exact`` have an
    order, and total 0. Every power of two of an order is kept if there are too many."""
    count = len(columns[time])
    if not count:
        return dict.fromkeys((*columns, "order", "total"), memoryview(b""))
    import numpy as np

    rows = np.lexsort([columns[name] for name in (time, *reversed(keys))])
    columns = {name: column[rows] for name, column in columns.items()}
    first = np.r_[True, np.any([columns[name][1:] != columns[name][:-1] for name in keys], axis=0)]
    group, starts = first.cumsum() - 1, np.flatnonzero(first)
    order = (np.arange(count) - starts[group]).astype(np.uint64)
    total = np.diff(np.r_[starts, count])[group].astype(np.uint64)
    if exact is not None:
        order = np.where(exact[rows], columns["order"], order)
        total = np.where(exact[rows], np.uint64(0), total)
    stride = 1
    while most and count // stride > most:
        stride *= 2
    chosen = np.flatnonzero(order % np.uint64(stride) == 0)[:most]
    return {name: memoryview(column[chosen]) for name, column in (columns | {"order": order, "total": total}).items()}
