"""Text of and for the user: arguments of ``CallGraph`` in ``FASTDISPATCH_OPTIONS`` and ``%%fastdispatch``."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Sequence
from typing import Any

from fastdispatch._core import Error
from fastdispatch.read.summary import printable


def options_of(text: str) -> dict[str, Any]:
    """Parse ``"ops=dispatch,timing=0"`` to arguments of CallGraph; 0 and 1 mean no and yes. Globs of ``keep`` are
    separated by ``+``."""
    options: dict[str, Any] = {}
    for part in filter(None, text.split(",")):
        name, equals, value = part.partition("=")
        if not equals:
            raise ValueError(f"{part}: write name=value")
        options[name.strip()] = int(value) if value.lstrip("-").isdigit() else value.strip()
    if "keep" in options:
        options["keep"] = str(options["keep"]).split("+")
    return options


def choice(name: str, value: str, choices: Sequence[str]) -> None:
    if value not in choices:
        raise Error(f"{name}={value!r}: must be one of {', '.join(choices)}")


def print_line(line: str) -> None:
    """Print a line on standard error, if it exists."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        print(f"fastdispatch: {printable(line)}", file=sys.stderr)
