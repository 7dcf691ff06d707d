"""Start a recording at the start of a Python process: imported by ``fastdispatch-startup.pth`` if ``FASTDISPATCH`` is
set.

``FASTDISPATCH=1`` records every Python process, ``FASTDISPATCH=children`` (set by ``fastdispatch run``) those that
multiprocessing spawns. ``FASTDISPATCH_OUT``, ``FASTDISPATCH_RANKS``, ``FASTDISPATCH_STEPS=A:B`` and
``FASTDISPATCH_OPTIONS=ops=dispatch,timing=0`` are the options. A mistake in them is reported in one line on standard
error and never raises an exception, because the process is the user's training. For the same reason a recording that
cannot be written is kept in memory, unless ``best_effort=0`` is given. Subinterpreters are not recorded.
"""

from __future__ import annotations

import os
import sys
from typing import Any


def is_spawned_by_multiprocessing() -> bool:
    return any("multiprocessing.spawn" in argument for argument in sys.orig_argv)


def options_of(text: str) -> dict[str, Any]:
    """Parse ``"ops=dispatch,timing=0"`` to arguments of CallGraph; 0 and 1 mean no and yes."""
    options: dict[str, Any] = {}
    for part in filter(None, text.split(",")):
        name, equals, value = part.partition("=")
        if not equals:
            raise ValueError(f"{part}: write name=value")
        options[name.strip()] = int(value) if value.lstrip("-").isdigit() else value.strip()
    return options


def start() -> None:
    from fastdispatch.record.callgraph import CallGraph

    options = {"best_effort": True} | options_of(os.environ.get("FASTDISPATCH_OPTIONS", ""))
    steps = os.environ.get("FASTDISPATCH_STEPS") or None
    graph = CallGraph(os.environ.get("FASTDISPATCH_OUT") or "fastdispatch-out", steps=steps, **options)
    graph._ambient = True
    graph.start()


if os.environ.get("FASTDISPATCH") != "children" or is_spawned_by_multiprocessing():
    try:
        start()
    except Exception as error:
        if sys.stderr:  # None where descriptor 2 is closed
            print(f"fastdispatch: not recording: {error}", file=sys.stderr)
