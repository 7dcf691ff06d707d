"""``CallGraph(measure=...)``: figures of operators besides their time (docs/concepts/measures.md)."""

from __future__ import annotations

import re

from fastdispatch._core import Error

#: Bits of ``fd_measure_plan.kinds``.
KINDS = {"flops": 1, "memory": 2, "comm": 4, "shapes": 8}

#: Kinds that read the operands of operators.
_OF_OPERANDS = ("flops", "comm", "shapes")


def measures_of(text: str, every: int, ops: str) -> tuple[str, ...]:
    """Parse the arguments of ``CallGraph(measure=, every=)``; the result is empty for nothing."""
    if not 1 <= every < 2**31:
        raise Error(f"every={every}: must be at least 1 (one step in N is measured)")
    parts = [part.strip() for part in re.split(r"[,+]", text)] if text else []
    for part in parts:
        if part not in (*KINDS, "all"):
            raise Error(f"measure={part!r}: must be one of {', '.join(KINDS)}, all")
    kinds = tuple(kind for kind in KINDS if kind in parts or "all" in parts)
    if ops in ("dispatch", "off") and any(kind in _OF_OPERANDS for kind in kinds):
        raise Error(f"measure={text!r} requires ops='record': omit ops")
    if every > 1 and not kinds:
        raise Error(f"every={every} selects the steps to measure: add measure, e.g. measure='flops'")
    return kinds


def bits(kinds: tuple[str, ...]) -> int:
    """Return ``fd_measure_plan.kinds``."""
    return sum(KINDS[kind] for kind in kinds)


def reads_operands(kinds: tuple[str, ...]) -> bool:
    return any(kind in _OF_OPERANDS for kind in kinds)
