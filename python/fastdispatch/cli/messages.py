"""Messages of commands, on standard error."""

from __future__ import annotations

import sys

from fastdispatch.text.formats import printable


def message(line: str) -> None:
    print(f"fastdispatch: {printable(line)}", file=sys.stderr, flush=True)
