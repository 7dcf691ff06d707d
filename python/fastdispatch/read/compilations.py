"""Compilations, recompilations and graph breaks of torch.compile in a recording, and source lines of its kernels."""

from collections.abc import Mapping
from typing import Any

from fastdispatch.read.summary import mapping
from fastdispatch.read.trace import Trace
from fastdispatch.text.fused_operators import fused_operators

#: How the operators begin that run the code of torch.compile: its calls are not recorded.
COMPILED = "Torch-Compiled Region"

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


def kernel_origins(trace: Trace) -> dict[int, dict[str, Any]]:
    """Return what the kernels of Inductor compute, by node: ``operators``, from their names, and ``lines`` of the
    program, each with ``function``, ``file`` and ``line``, if Inductor tracked its provenance."""
    lines = _lines_by_kernel(trace)
    names = trace.nodes["key"]
    found = {
        node: {"operators": fused_operators(names[node]), "lines": lines.get(names[node], [])}
        for node, kind in enumerate(trace.nodes["kind"])
        if kind == "kernel"
    }
    return {node: origin for node, origin in found.items() if origin["operators"] or origin["lines"]}


def _lines_by_kernel(trace: Trace) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for rank in trace.ranks:
        rows = rank["meta"].get("kernel_sources")
        for row in map(mapping, rows if isinstance(rows, list) else []):
            kernel, lines = row.get("kernel"), row.get("lines")
            if isinstance(kernel, str) and isinstance(lines, list) and all(_has(line, _PLACE) for line in lines):
                known = found.setdefault(kernel, [])
                known += [line for line in lines if line not in known]
    return found


def _has(row: object, members: Mapping[str, type]) -> bool:
    return isinstance(row, dict) and all(isinstance(row.get(name), kind) for name, kind in members.items())


def _is_valid(fact: dict[str, Any]) -> bool:
    """Return whether a fact has the members that a recorder writes: a file may contain anything."""
    if set(fact) != {*_NUMBERS, *_ROWS} or not all(isinstance(fact[name], int) for name in _NUMBERS):
        return False
    return all(
        _has(row, _PLACE | members)
        for key, members in _ROWS.items()
        for row in (fact[key] if isinstance(fact[key], list) else [None])
    )
