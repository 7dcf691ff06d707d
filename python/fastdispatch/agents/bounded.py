"""Results with at most a number of bytes: a list is shortened, with a note."""

from __future__ import annotations

import json
import math
from typing import Any

#: Bytes of a result as JSON: about 5000 tokens.
MOST = 20_000


def bounded(document: dict[str, Any], name: str, whole: int | None = None, most: int = MOST) -> str:
    """Return ``document`` as JSON of at most ``most`` bytes. The list ``name`` loses its last items if the result is
    larger; then ``note`` states their number. ``whole``: number of items that there are, if it is known."""
    items = document[name]
    count = len(items) if whole is None else whole
    low, high = 0, len(items)
    while low < high:  # the largest number of items that fits
        middle = (low + high + 1) // 2
        if _size(_cut(document, name, middle, count)) <= most:
            low = middle
        else:
            high = middle - 1
    made = _text(_cut(document, name, low, count))
    return made if len(made) <= most else _text({"note": f"the result is larger than {most} bytes: request less"})


def _cut(document: dict[str, Any], name: str, length: int, count: int) -> dict[str, Any]:
    made = document | {name: document[name][:length]}
    if length < count:
        made["note"] = f"the first {length} of {count} {name}: request fewer rows, or other columns"
    return made


def _size(document: dict[str, Any]) -> int:
    return len(_text(document))


def _text(document: dict[str, Any]) -> str:
    """Return ASCII: a character is a byte."""
    return json.dumps(_plain(document), separators=(",", ":"))


def _plain(value: Any) -> Any:
    """Return a value that JSON has: texts for dates and other types of databases, null for numbers that are not
    finite."""
    if isinstance(value, dict):
        return {str(name): _plain(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, (str, int, float)) else str(value)
