"""Start a recording at the start of a Python process: imported by ``_fastdispatch_startup`` if ``FASTDISPATCH`` is set.

``FASTDISPATCH=1`` records every Python process, ``FASTDISPATCH=children`` (set by recordings for their children)
those that multiprocessing spawns. ``FASTDISPATCH_OUT``, ``FASTDISPATCH_RANKS``, ``FASTDISPATCH_STEPS=A:B`` and
``FASTDISPATCH_OPTIONS=ops=dispatch,timing=0`` are the options. A mistake in them is reported in one line on standard
error and never raises an exception, because the process is the user's training. For the same reason a recording that
cannot be written is kept in memory, unless ``best_effort=0`` is given. Subinterpreters, launchers and the commands of
fastdispatch are not recorded.
"""

import os
import sys

from fastdispatch.record.launchers import is_launcher
from fastdispatch.record.options import options_of


def is_fork_server() -> bool:
    return any("multiprocessing.forkserver" in argument for argument in sys.orig_argv)


def is_own_command() -> bool:
    """Return whether the process is ``fastdispatch`` or ``python -m fastdispatch``: a recording of ``report`` would
    replace the one that it reads."""
    arguments = [*sys.orig_argv[1:], ""]
    module = arguments[arguments.index("-m") + 1] if "-m" in arguments else ""
    return module == "fastdispatch" or os.path.basename(arguments[0]) == "fastdispatch"


def start(spawned: bool) -> None:
    """Record this process; one that multiprocessing spawned is a child of a rank until it joins a process group."""
    from fastdispatch.record.callgraph import CallGraph

    options = {"best_effort": True} | options_of(os.environ.get("FASTDISPATCH_OPTIONS", ""))
    steps = os.environ.get("FASTDISPATCH_STEPS") or None
    graph = CallGraph(os.environ.get("FASTDISPATCH_OUT") or "fastdispatch-out", steps=steps, **options)
    graph._ambient = True
    if spawned and options.get("children", 1):
        from fastdispatch.record.child_recordings import record_possible_rank

        record_possible_rank(graph, options)
    else:
        graph.start()


def start_child(spawned: bool) -> None:
    """Record a child of the process that spawned it. A fork server is not recorded, its children are."""
    from fastdispatch.record.child_recordings import record_spawned

    options = options_of(os.environ.get("FASTDISPATCH_OPTIONS", ""))
    if options.get("children", 1):
        record_spawned(options, now=spawned)


def begin() -> None:
    spawned = any("multiprocessing.spawn" in argument for argument in sys.orig_argv)
    every = os.environ.get("FASTDISPATCH") != "children" and not is_fork_server()
    if every or (spawned and "FASTDISPATCH_OUT" in os.environ):
        start(spawned)
    elif spawned or is_fork_server():
        start_child(spawned)


if not is_own_command() and not is_launcher():
    try:
        begin()
    except Exception as error:
        if sys.stderr:  # None where descriptor 2 is closed
            print(f"fastdispatch: not recording: {error}", file=sys.stderr)
