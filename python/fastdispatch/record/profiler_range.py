"""``job_schedule_profiler_range``: record some iterations of a loop, like PaddlePaddle's tool of that name."""

import os
import sys
from operator import index
from types import TracebackType
from typing import SupportsIndex

from fastdispatch.record import callgraph
from fastdispatch.record.callgraph import CallGraph
from fastdispatch.record.gpu import Gpu

#: The recording started by a range, and the number of recordings so far.
_own: CallGraph | None = None
_windows = 0


class job_schedule_profiler_range:
    """Context manager around one iteration; its value is whether the iteration is recorded: ``start <= iter_id < end``.

    Inside a running :class:`CallGraph` it selects the recorded iterations, unless the graph has a schedule: iterations
    outside the range have no hooks and cost nothing. Elsewhere it starts a recording with a timeline in
    ``fastdispatch-out`` (``FASTDISPATCH_OUT``; with ``-2``, ``-3`` for later ranges of a process), which lasts over
    the iterations and ends with number ``end - 1``. Every iteration is a step, unless the program calls ``step()``
    itself.

    After iteration ``end - 1`` the recording is finished and the process ends by ``sys.exit()``, unless an exception
    propagates or ``exit_after_prof`` is false. With ``start >= end`` nothing is recorded and the process continues.

    A recording that cannot be written is kept in memory and written at its end (``best_effort`` of
    :class:`CallGraph`), so that the training continues.

    ``gpu`` is that of :class:`CallGraph`, for a recording started here, in every iteration of the range:
    ``"kernels+jobs"`` records kernels and times jobs on the GPU.

    ``start_step`` and ``stop_step`` are other names of ``start`` and ``end``. Raises ``TypeError`` if one is missing,
    given twice or not an integer.
    """

    def __init__(
        self,
        iter_id: SupportsIndex,
        start: SupportsIndex | None = None,
        end: SupportsIndex | None = None,
        exit_after_prof: bool = True,
        *,
        start_step: SupportsIndex | None = None,
        stop_step: SupportsIndex | None = None,
        gpu: str | Gpu = "auto",
    ) -> None:
        begin = _one_of("start", start, "start_step", start_step)
        stop = _one_of("end", end, "stop_step", stop_step)
        self._number = index(iter_id)
        self._on = begin <= self._number < stop
        self._last = self._on and self._number == stop - 1
        self._exit = exit_after_prof
        self._gpu = gpu

    def __enter__(self) -> bool:
        if self._on and callgraph.current() is None:
            _start(self._gpu)
        graph = callgraph.current()
        if graph is not None:
            graph.iterate(self._on, max(self._number, 0))
        if not self._on:
            _finish()
        return self._on

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._last:
            return
        graph = callgraph.current()
        if graph is not None:
            graph.iterate(False, None)
        _finish()
        if self._exit and kind is None:
            if graph is not None:
                graph.stop()
            sys.exit()


def _one_of(name: str, value: SupportsIndex | None, other: str, same: SupportsIndex | None) -> int:
    if (value is None) == (same is None):
        raise TypeError(f"job_schedule_profiler_range: give {name} or {other}")
    return index(value if value is not None else same)  # type: ignore[arg-type]


def _start(gpu: str | Gpu) -> None:
    global _own, _windows
    _windows += 1
    out = os.environ.get("FASTDISPATCH_OUT") or "fastdispatch-out"
    folder = out if _windows == 1 else f"{out}-{_windows}"
    graph = CallGraph(folder, timeline=True, steps="all", gpu=gpu, best_effort=True)
    graph._ambient = graph._gpu_always = True
    graph.start()
    _own = graph


def _finish() -> None:
    global _own
    if _own is not None:
        _own.stop()
        _own = None
