"""Objects that a recording must not change: the functions of an engine, and their code."""

from typing import Any


def identities(*owners: Any) -> dict[str, tuple[int, int]]:
    """The identities of all objects that these modules and classes define, and of their code."""
    return {
        f"{owner.__name__}.{name}": (id(value), id(getattr(value, "__code__", None)))
        for owner in owners
        for name, value in sorted(vars(owner).items())
        if callable(value)
    }
