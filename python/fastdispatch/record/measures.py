"""``CallGraph(measure=...)``: figures of operators besides their time (docs/concepts/measures.md)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from fastdispatch._core import Error, Session

#: Bits of ``fd_measure_plan.kinds``.
KINDS = {"flops": 1, "memory": 2, "comm": 4, "shapes": 8}

#: Kinds that read the operands of operators.
_OF_OPERANDS = ("flops", "comm", "shapes")

#: Without ``every``: measure this many steps, and after that one in so many.
_FIRST, _EVERY = 32, 16


@dataclass(frozen=True)
class Measures:
    """Kinds to measure, in the ``first`` steps and then in one step out of ``every``."""

    kinds: tuple[str, ...]
    first: int
    every: int

    def __contains__(self, kind: object) -> bool:
        return kind in self.kinds

    def attach(self, session: Session) -> None:
        if self.kinds:
            from fastdispatch.measures.flop_formulas import OPERATORS, PADDING

            operators = OPERATORS | (PADDING if "shapes" in self.kinds else {})
            session.measure(sum(KINDS[kind] for kind in self.kinds), self.first, self.every, operators)

    def read_operands(self) -> bool:
        return any(kind in _OF_OPERANDS for kind in self.kinds)

    def facts(self) -> dict[str, object]:
        """Return the options to store in the recording."""
        return {"measure": dict.fromkeys(self.kinds, self.every), "measure_first": self.first}


def measures_of(text: str, every: int | None, ops: str) -> Measures:
    """Parse the arguments of ``CallGraph(measure=, every=)``."""
    if every is not None and not 1 <= every < 2**31:
        raise Error(f"every={every}: must be at least 1 (one step in N is measured)")
    parts = [part.strip() for part in re.split(r"[,+]", text)] if text else []
    for part in parts:
        if part not in (*KINDS, "all"):
            raise Error(f"measure={part!r}: must be one of {', '.join(KINDS)}, all")
    kinds = tuple(kind for kind in KINDS if kind in parts or "all" in parts)
    if ops in ("dispatch", "off") and any(kind in _OF_OPERANDS for kind in kinds):
        raise Error(f"measure={text!r} requires ops='record': omit ops")
    if (every or 1) > 1 and not kinds:
        raise Error(f"every={every} selects the steps to measure: add measure, e.g. measure='flops'")
    return Measures(kinds, 0, every) if every is not None else Measures(kinds, _FIRST, _EVERY)
