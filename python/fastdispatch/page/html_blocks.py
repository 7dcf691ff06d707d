"""Data inside a page: tables and values as one text, small enough to send by mail and quick to unpack in a browser.

    base64( gzip( length of head : u32 | head : JSON | columns, each at a multiple of 8 bytes ) )

The head has ``values``, ``texts`` (without duplicates) and ``tables``: for each its ``rows`` and, per column, type,
offset, and whether values are rows of ``texts``. Columns of zeros are omitted.
"""

import base64
import gzip
import json
import sys
from array import array
from collections.abc import Mapping, Sequence
from typing import Any

Table = Mapping[str, Sequence[Any]]

#: Type in the page, code of ``array``, least and greatest value; the first that fits is taken.
_TYPES = (
    ("u8", "B", 0, 2**8 - 1),
    ("u16", "H", 0, 2**16 - 1),
    ("u32", "I", 0, 2**32 - 1),
    ("i32", "i", -(2**31), 2**31 - 1),
)
_ALIGNMENT = 8


class _Columns:
    """Concatenated bytes of columns, and the texts that they refer to."""

    def __init__(self) -> None:
        self.content = bytearray()
        self.texts: dict[str, int] = {}

    def add(self, values: Sequence[Any]) -> dict[str, Any] | None:
        is_text = isinstance(values[0], str)
        numbers = [self.texts.setdefault(text, len(self.texts)) for text in values] if is_text else values
        if not is_text and not any(numbers):
            return None
        name, code = _type_of(numbers)
        column = array(code, numbers)
        if sys.byteorder == "big":
            column.byteswap()
        self.content.extend(bytes(-len(self.content) % _ALIGNMENT))
        described = {"type": name, "at": len(self.content), "text": is_text}
        self.content.extend(column.tobytes())
        return described


def _type_of(numbers: Sequence[Any]) -> tuple[str, str]:
    if float not in set(map(type, numbers)):
        least, greatest = min(numbers), max(numbers)
        for name, code, low, high in _TYPES:
            if low <= least and greatest <= high:
                return name, code
    return "f64", "d"


def block(values: Any, tables: Mapping[str, Table]) -> str:
    """Return a block as text; equal arguments give equal text."""
    columns = _Columns()
    described = {}
    for name, table in tables.items():
        rows = len(next(iter(table.values())))
        found = {column: columns.add(cells) for column, cells in table.items()} if rows else {}
        described[name] = {"rows": rows, "columns": {column: what for column, what in found.items() if what}}
    head = {"values": values, "texts": list(columns.texts), "tables": described}
    text = json.dumps(head, separators=(",", ":")).encode()
    text += b" " * (-(len(text) + 4) % _ALIGNMENT)
    content = len(text).to_bytes(4, "little") + text + bytes(columns.content)
    return base64.b64encode(gzip.compress(content, 6, mtime=0)).decode()
