"""``CallGraph(detail=...)``: optional entries of the calling-context tree (docs/concepts/calls.md)."""

from fastdispatch._core import Error


def detail_of(text: str, calls: str) -> str:
    """Check the argument of ``CallGraph(detail=)``: ``"c_calls"``, or empty for nothing."""
    if text not in ("", "c_calls"):
        raise Error(f"detail={text!r}: must be c_calls")
    if text and calls == "off":
        raise Error(f"detail={text!r} requires Python calls: omit calls='off'")
    return text
