"""``CallGraph(detail=...)``: optional entries of the calling-context tree (docs/concepts/calls.md)."""

from __future__ import annotations

import re

from fastdispatch._core import Error

#: Bits of ``FD_DETAIL_*``.
DETAILS = {"c_calls": 1, "lines": 2}


def details_of(text: str, calls: str) -> tuple[str, ...]:
    """Parse the argument of ``CallGraph(detail=)``; the result is empty for nothing."""
    parts = [part.strip() for part in re.split(r"[,+]", text)] if text else []
    for part in parts:
        if part not in DETAILS:
            raise Error(f"detail={part!r}: must be {' or '.join(DETAILS)}")
    if parts and calls == "off":
        raise Error(f"detail={text!r} requires Python calls: omit calls='off'")
    return tuple(name for name in DETAILS if name in parts)
