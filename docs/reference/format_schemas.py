"""Lay out the JSON schemas: an object or list on one line if it fits, otherwise one field per line; names are filled.

``python docs/reference/format_schemas.py`` rewrites the files.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

SCHEMAS = Path(__file__).parent / "schemas"
WIDTH = 120


def laid_out(value: Any, indent: int = 0, used: int = 0) -> str:
    """The text of a value that begins in column ``indent + used`` of its line."""
    line = json.dumps(value, ensure_ascii=False)
    if indent + used + len(line) < WIDTH or not isinstance(value, (dict, list)):
        return line
    inner = " " * (indent + 2)
    if isinstance(value, dict):
        names = [json.dumps(name, ensure_ascii=False) + ": " for name in value]
        items = [name + laid_out(item, indent + 2, len(name)) for name, item in zip(names, value.values(), strict=True)]
    else:
        items = filled([laid_out(item, indent + 2) for item in value], WIDTH - indent - 3)
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    return opening + "\n" + ",\n".join(inner + item for item in items) + "\n" + " " * indent + closing


def filled(items: list[str], width: int) -> list[str]:
    """Short items share lines of at most ``width`` characters."""
    lines: list[str] = []
    for item in items:
        if lines and "\n" not in lines[-1] + item and len(lines[-1]) + len(item) + 2 <= width:
            lines[-1] += ", " + item
        else:
            lines.append(item)
    return lines


def formatted(path: Path) -> str:
    return laid_out(json.loads(path.read_text())) + "\n"


def main() -> int:
    for path in sorted(SCHEMAS.iterdir()):
        path.write_text(formatted(path))
    return 0


if __name__ == "__main__":
    sys.exit(main())
