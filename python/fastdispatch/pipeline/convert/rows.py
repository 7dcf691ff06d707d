"""Data in generated code."""

from collections.abc import Sequence


def rows(values: Sequence[object]) -> str:
    """The inside of a tuple, a line an entry."""
    return "".join(f"\n    {value!r}," for value in values) + "\n" if values else ""
