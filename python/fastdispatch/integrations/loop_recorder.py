"""A recording whose begin, steps and end are events of a training loop."""

import os
from typing import Any

from fastdispatch.record.callgraph import CallGraph


class LoopRecorder:
    """Makes a CallGraph at the start of each training. ``graph`` is the latest one, None before the first."""

    def __init__(self, out: str | os.PathLike[str] | None, options: dict[str, Any]) -> None:
        self.out = out
        # A training must not fail because its recording cannot be written.
        self.options = {"best_effort": True} | options
        CallGraph(out, **self.options)  # raises Error for invalid options, before the training begins
        self.graph: CallGraph | None = None

    def begin(self) -> None:
        self.end()  # of a training that an exception ended
        self.graph = CallGraph(self.out, **self.options)
        self.graph.start()

    def step(self) -> None:
        if self.graph is not None:
            self.graph.step()

    def end(self) -> None:
        if self.graph is not None:
            self.graph.stop()


class RecordsLoop:
    """The part of a callback that has a :class:`LoopRecorder`. Arguments are those of :class:`fastdispatch.CallGraph`,
    with ``best_effort=True``."""

    def __init__(self, out: str | os.PathLike[str] | None = "fastdispatch-out", **options: Any) -> None:
        super().__init__()
        self._loop = LoopRecorder(out, options)

    @property
    def graph(self) -> CallGraph | None:
        """The latest recording."""
        return self._loop.graph
