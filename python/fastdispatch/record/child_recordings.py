"""Recordings of children: forked processes leave the recording of their parent, and each child starts its own."""

import atexit
import contextlib
import os
import sys
from dataclasses import replace
from functools import partial
from typing import Any

from fastdispatch import _core
from fastdispatch.files import run_directory
from fastdispatch.record import callgraph, children, optimizer_reports
from fastdispatch.record.children import ParentRank, Process

#: Children of one process to record, apart from DataLoader workers: a server may fork for every request.
_MOST_CHILDREN = 256

#: In a forked child, the sessions of its parent; they are not touched.
_inherited: list[_core.Session | None] = []


def _after_fork() -> None:
    """Leave the recording of the parent, and record the forked child in its own file."""
    if callgraph._current is None:
        return
    graph, callgraph._current = callgraph._current, None
    optimizer_reports.end_reports()
    options = graph._options
    rank = graph._as_rank() if options.children else None
    atexit.unregister(graph._stop_at_exit)
    _inherited.append(graph._session)
    graph._session = graph._file = None
    process = children.forked() if rank is not None else None
    if rank is None or process is None or (process.kind != "worker" and graph._forks >= _MOST_CHILDREN):
        return
    child = callgraph.CallGraph(
        rank.folder,
        calls=options.calls,
        ops=options.ops if graph._operators is None else graph._operators.source,
        timing=options.timing,
        timeline=False if options.events is None else replace(options.events, when_full="overwrite"),
        gpu="off",
        keep=options.kept,
        max_mb=_share(options.max_mb),
        detail=options.detail,
    )
    if graph._operators is not None and graph._operators.source == "dispatch":
        child._operators = graph._operators  # the mode is active in the child, too
    child._follow(rank, process)
    util = sys.modules.get("multiprocessing.util")
    if util is not None and process.kind != "fork":
        util.register_after_fork(child, _stop_with_multiprocessing)


def _share(max_mb: int) -> int:
    """Return the limit of the recording of a child."""
    return max(1, min(16, max_mb // 4))


def _stop_with_multiprocessing(graph: callgraph.CallGraph) -> None:
    """Stop at the end of a process of multiprocessing, which runs no functions of atexit."""
    util = sys.modules["multiprocessing.util"]
    util.Finalize(None, graph._stop_at_exit, exitpriority=-1000)


class Spawned:
    """A process that multiprocessing spawned, or its fork server.

    A process has a name when it begins to run its target: a recording that was started before then gets that name.
    """

    def __init__(self, options: dict[str, Any]) -> None:
        self._options = options | {"max_mb": _share(options.get("max_mb", 64)), "gpu": "off"}
        self._pid = os.getpid()

    def record(self) -> None:
        rank = ParentRank.of_environment()
        if rank is not None:
            self.record_with(callgraph.CallGraph(rank.folder, **self._options), rank)

    def record_with(self, graph: callgraph.CallGraph, rank: ParentRank | None) -> None:
        """Start ``graph`` as the recording of a child of this rank; with None, as that of a rank."""
        if rank is None:
            graph.start()
        else:
            graph._follow(rank, Process("process", "process"))
        graph._spawned = self

    def begins(self) -> None:
        """Name the recording of this process, or start that of a process that the fork server has forked."""
        with contextlib.suppress(Exception):  # the process is then recorded without a name, or not at all
            process = children.started_process()
            rank = ParentRank.of_environment() if process is not None else None
            if process is None or rank is None:
                return
            if callgraph._current is not None:
                _become(callgraph._current, rank, process)
            elif os.getpid() != self._pid:
                graph = callgraph.CallGraph(rank.folder, **self._options)
                graph._follow(rank, process)
                _stop_with_multiprocessing(graph)


def _become(graph: callgraph.CallGraph, rank: ParentRank, process: Process) -> None:
    """Give a recording the name of its process, which was not known at the start. One that was started as a rank stays
    one, except for a worker."""
    graph._spawned = None
    if graph._file is None or (graph._child_of is None and process.kind != "worker"):
        return
    file, name = graph._file, children.name_of(rank, process)
    if file.local is None:
        file.folder.move(file.name, file.folder, name)
    if graph._child_of is None:
        run_directory.forget(file.folder, file.name)
    file.name = name
    graph._child_of, graph._process = rank, process
    graph._ambient = graph._ambient and process.kind != "worker"
    graph._note({"process": process.note(rank)})


def record_spawned(options: dict[str, Any], *, now: bool) -> None:
    """Record this process of multiprocessing as a child of the rank that spawned it, if that records: ``now``, or
    otherwise the processes that this one forks."""
    spawned = Spawned(options)
    if now:
        spawned.record()
        return
    from multiprocessing import util

    _servers.append(spawned)
    util.register_after_fork(spawned, Spawned.begins)


def record_possible_rank(graph: callgraph.CallGraph, options: dict[str, Any]) -> None:
    """Record this spawned process as a child of the rank that spawned it, unless the variables of a launcher make it
    another rank."""
    rank = ParentRank.of_environment()
    same = rank is not None and rank.variables == children.rank_variables()
    Spawned(options).record_with(graph, rank if same else None)


_servers: list[Spawned] = []


def _count_fork() -> None:
    if callgraph._current is not None:
        callgraph._current._forks += 1


def watch_forks() -> None:
    """Record the forked children of this process from now on, if it records."""
    os.register_at_fork(after_in_child=partial(_core.after_fork, _after_fork), after_in_parent=_count_fork)
