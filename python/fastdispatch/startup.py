"""Starts a recording when a Python process begins: imported by ``fastdispatch-startup.pth`` if ``FASTDISPATCH`` is set.

``FASTDISPATCH=1`` records every Python process, ``FASTDISPATCH=children`` (what ``fastdispatch run`` sets) those that
multiprocessing spawns. ``FASTDISPATCH_OUT``, ``FASTDISPATCH_RANKS``, ``FASTDISPATCH_STEPS=A:B`` and
``FASTDISPATCH_OPTIONS=ops=dispatch,timing=0`` are the options. A mistake in them is one line on standard error,
never an exception: the process is somebody's training. For the same reason a recording that cannot be written is held
in memory, unless ``best_effort=0`` is given. In a sub-interpreter nothing is recorded, silently.
"""

from __future__ import annotations

import os
import sys
from typing import Any


def is_spawned_by_multiprocessing() -> bool:
    return any("multiprocessing.spawn" in argument for argument in sys.orig_argv)


def options_of(text: str) -> dict[str, Any]:
    """``"ops=dispatch,timing=0"`` as arguments of CallGraph; numbers are numbers, 0 and 1 serve as no and yes."""
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
