"""``CallGraph(measure=...)``: figures of operators besides their time (docs/concepts/measures.md)."""

import re
from dataclasses import dataclass

from fastdispatch._core import Error, Session

#: Bits of ``fd_measure_plan.kinds``.
KINDS = {"flops": 1, "memory": 2, "comm": 4, "shapes": 8}

#: Kinds that read the operands of operators.
_OF_OPERANDS = ("flops", "comm", "shapes")


@dataclass(frozen=True)
class Measures:
    """Kinds to measure."""

    kinds: tuple[str, ...]

    def __contains__(self, kind: object) -> bool:
        return kind in self.kinds

    def attach(self, session: Session) -> None:
        if self.kinds:
            from fastdispatch.measures.flop_formulas import OPERATORS, PADDING

            operators = OPERATORS | (PADDING if "shapes" in self.kinds else {})
            session.measure(sum(KINDS[kind] for kind in self.kinds), operators)

    def read_operands(self) -> bool:
        return any(kind in _OF_OPERANDS for kind in self.kinds)

    def facts(self) -> dict[str, object]:
        """Return the option to store in the recording: 1 is one in so many steps."""
        return {"measure": dict.fromkeys(self.kinds, 1)}


def measures_of(text: str, ops: str) -> Measures:
    """Parse the argument ``CallGraph(measure=)``."""
    parts = [part.strip() for part in re.split(r"[,+]", text)] if text else []
    for part in parts:
        if part not in (*KINDS, "all"):
            raise Error(f"measure={part!r}: must be one of {', '.join(KINDS)}, all")
    kinds = tuple(kind for kind in KINDS if kind in parts or "all" in parts)
    if ops in ("dispatch", "off") and any(kind in _OF_OPERANDS for kind in kinds):
        raise Error(f"measure={text!r} requires ops='record': omit ops")
    return Measures(kinds)
