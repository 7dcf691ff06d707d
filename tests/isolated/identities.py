"""What a recording must leave alone: the functions of an engine, and their code."""

from __future__ import annotations

from typing import Any


def identities(*owners: Any) -> dict[str, tuple[int, int]]:
    """Of everything that these modules and classes define: which object it is, and which code it has."""
    return {
        f"{owner.__name__}.{name}": (id(value), id(getattr(value, "__code__", None)))
        for owner in owners
        for name, value in sorted(vars(owner).items())
        if callable(value)
    }
