"""Tables of a trace: rows of columns, and Arrow columns."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fastdispatch._core import ArgumentError


def rows(columns: Mapping[str, Sequence[Any]], names: str) -> Iterator[tuple[Any, ...]]:
    """Return the rows of columns, whose names are separated by spaces; none of an empty table."""
    return zip(*(columns[name] if columns else () for name in names.split()), strict=True)


class ArrowTable:
    """One table of a trace, for every library that reads the Arrow C stream interface.

    ``pyarrow.table(t)``, ``polars.DataFrame(t)``, ``pandas.DataFrame.from_arrow(t)`` and DuckDB (by the name of a
    variable) take it. docs/formats/columns.md lists the columns. Batches are made while they are read: one for a table
    that all ranks share, one per rank for others.
    """

    def __init__(self, core: Any, name: str) -> None:
        if name not in core.streams():
            raise ArgumentError(f"{name}: no such table: one of {', '.join(core.streams())}")
        self._core = core
        self.name = name

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return a capsule with an ``ArrowArrayStream``; a requested schema is ignored, as the interface allows."""
        return self._core.stream(self.name)

    def __repr__(self) -> str:
        return f"<fastdispatch.ArrowTable {self.name}>"
