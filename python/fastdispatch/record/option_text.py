"""Text of and for the user: arguments of ``CallGraph`` in ``FASTDISPATCH_OPTIONS`` and ``%%fastdispatch``."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from fastdispatch._core import Error
from fastdispatch.text.formats import printable

_MAX_MB = 1024


def options_of(text: str) -> dict[str, Any]:
    """Parse ``"ops=dispatch,timing=0"`` to arguments of CallGraph; 0 and 1 mean no and yes. Globs of ``keep`` are
    separated by ``+``."""
    options: dict[str, Any] = {}
    for part in filter(None, text.split(",")):
        name, equals, value = part.partition("=")
        if not equals:
            raise ValueError(f"{part}: write name=value")
        options[name.strip()] = int(value) if value.lstrip("-").isdigit() else value.strip()
    if "budget" in options:
        options["budget"] = float(options["budget"])
    if "keep" in options:
        options["keep"] = str(options["keep"]).split("+")
    return options


def choice(name: str, value: str, choices: Sequence[str]) -> None:
    if value not in choices:
        raise Error(f"{name}={value!r}: must be one of {', '.join(choices)}")


def check_options(given: Mapping[str, Any]) -> None:
    """Raise Error for arguments of CallGraph that do not fit together or this version of Python."""
    if given["schedule"] is not None and given["steps"] is not None:
        raise Error("schedule and steps both select the steps to record: give only one of them")
    if given["budget"] is not None and (given["schedule"] is not None or given["steps"] is not None):
        raise Error("budget, schedule and steps select the steps to record: give only one of them")
    if given["gather"] and given["ranks"] is not None:
        raise Error("gather requires every rank, ranks excludes some: give only one of them")
    if not 1 <= given["max_mb"] <= _MAX_MB:
        raise Error(f"max_mb={given['max_mb']}: must be from 1 to {_MAX_MB}")
    if given["calls"] == "monitor" and sys.version_info < (3, 12):
        raise Error("calls='monitor' needs Python 3.12 or later: use calls='frame'")
    if (given["timeline"] or given["jobs"]) and not given["timing"]:
        raise Error("a timeline requires times: omit timing=False")
    if given["et"] and (not given["timing"] or given["ops"] in ("dispatch", "off")):
        raise Error("et=True requires times and ops='record': omit timing and ops")


def print_line(line: str) -> None:
    """Print a line on standard error, if it exists."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        print(f"fastdispatch: {printable(line)}", file=sys.stderr)
