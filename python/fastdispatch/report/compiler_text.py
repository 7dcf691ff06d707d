"""What torch.compile did, as text: a few lines per rank."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from fastdispatch.read.summary import grouped, mapping, seconds
from fastdispatch.read.trace import Trace

_SHOWN = 3
_NUMBERS = ("compilations", "listed", "ns")
_PLACE: dict[str, type] = {"function": str, "file": str, "line": int}
_ROWS: dict[str, dict[str, type]] = {
    "functions": {"compilations": int, "ns": int},
    "recompilations": {"guard": str, "count": int},
    "graph_breaks": {"reason": str, "count": int},
}


def facts(trace: Trace) -> list[dict[str, Any]]:
    """Return the fact ``compile`` of each rank that has it."""
    found = ((rank["rank"], mapping(rank["meta"].get("compile"))) for rank in trace.ranks)
    return [{"rank": rank} | fact for rank, fact in found if _is_valid(fact)]


def _is_valid(fact: dict[str, Any]) -> bool:
    """Return whether a fact has the members that a recorder writes: a file may contain anything."""
    if set(fact) != {*_NUMBERS, *_ROWS} or not all(isinstance(fact[name], int) for name in _NUMBERS):
        return False
    return all(
        isinstance(row, dict) and all(isinstance(row.get(name), kind) for name, kind in (_PLACE | members).items())
        for key, members in _ROWS.items()
        for row in (fact[key] if isinstance(fact[key], list) else [None])
    )


def lines(found: list[dict[str, Any]]) -> Iterator[str]:
    for fact in found:
        again = sum(each["count"] for each in fact["recompilations"])
        breaks = sum(each["count"] for each in fact["graph_breaks"])
        listed = f", of which {grouped(fact['listed'])} are known" if fact["listed"] < fact["compilations"] else ""
        yield (
            f"torch.compile on rank {fact['rank']}: {grouped(fact['compilations'])} compilations in "
            f"{seconds(fact['ns'])}{listed}; {grouped(again)} recompilations, {grouped(breaks)} graph breaks"
        )
        for each in fact["recompilations"][:_SHOWN]:
            yield f"  recompiled {_times(each)}: {_where(each)}: {each['guard']}"
        for each in fact["graph_breaks"][:_SHOWN]:
            yield f"  graph break {_times(each)}: {_where(each)}: {each['reason']}"


def _times(each: dict[str, Any]) -> str:
    return f"{grouped(each['count'])} time{'s' * (each['count'] != 1)}"


def _where(each: dict[str, Any]) -> str:
    return f"{each['function']} ({os.path.basename(each['file'])}:{each['line']})" if each["file"] else "unknown place"
