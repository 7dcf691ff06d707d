"""Compilations, recompilations and graph breaks of torch.compile in a recording."""

from __future__ import annotations

from typing import Any

from fastdispatch.read.summary import mapping
from fastdispatch.read.trace import Trace

_NUMBERS = ("compilations", "listed", "ns")
_PLACE: dict[str, type] = {"function": str, "file": str, "line": int}
_ROWS: dict[str, dict[str, type]] = {
    "functions": {"compilations": int, "ns": int},
    "recompilations": {"guard": str, "count": int},
    "graph_breaks": {"reason": str, "count": int},
}


def compilations(trace: Trace) -> list[dict[str, Any]]:
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
