"""The finished or running recording of a ``CallGraph``, as a trace."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from fastdispatch import _core
from fastdispatch.record.decorators import within

if TYPE_CHECKING:
    from fastdispatch.read.trace import Steps, Trace
    from fastdispatch.record.options import Options

_NOTHING = "nothing was recorded: start the CallGraph first"


class Recorded(ABC):
    """The part of a :class:`fastdispatch.CallGraph` that reads: its views show the settled steps."""

    _options: Options
    _model: Recorded | None  # the one whose arguments this one has

    @property
    @abstractmethod
    def path(self) -> str | None:
        """The file of the recording; None in memory."""

    @property
    @abstractmethod
    def _recording(self) -> _core.Session | None:
        """The session that records, or recorded."""

    @staticmethod
    @abstractmethod
    def _current() -> Recorded | None:
        """Return the recording of this process."""

    @property
    def trace(self) -> Trace:
        """The recording so far, as from ``fastdispatch.load``; all steps. Raises :class:`fastdispatch.Error` if nothing
        was recorded."""
        return self._load()

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Decorate a function or coroutine function: each outermost call is recorded by a new CallGraph with the
        arguments of this one."""
        return within("CallGraph", self._again, function)

    def __fspath__(self) -> str:
        """Return the file of the recording: functions with paths of recordings accept a CallGraph."""
        if self._recording is None:
            raise _core.Error(_NOTHING)
        if self.path is None:
            raise _core.Error("the recording is in memory: use load(graph), or CallGraph with a directory")
        return self.path

    def _again(self) -> Any:
        from contextlib import nullcontext

        graph = self._current()
        if graph is not None and self in (graph, graph._model):
            return nullcontext()  # a nested call
        again = type(self)(**self._options.given())
        again._model = self
        return again

    def _load(self, *, timeline: bool = False, steps: Steps = None) -> Trace:
        from fastdispatch.read.trace import Trace, load

        session = self._recording
        if session is None:
            raise _core.Error(_NOTHING)
        if self.path is not None:
            return load(self.path, timeline=timeline, steps=steps)
        if session.active or steps is None:
            return Trace(session.trace(timeline=timeline))
        return _from_memory(session, steps)

    @property
    def _shown(self) -> Trace:
        return self._load(steps="settled")

    def _with_timeline(self) -> Trace:
        return self._load(timeline=True, steps="settled")


def _from_memory(session: _core.Session, steps: Steps) -> Trace:
    """Return some steps of a stopped recording in memory; only files are reduced to steps."""
    from tempfile import TemporaryDirectory

    from fastdispatch.read.trace import load

    with TemporaryDirectory(prefix="fastdispatch-") as folder:
        session.save(_core.Folder(folder), "rank00000.fd")
        trace = load(f"{folder}/rank00000.fd", steps=steps)
    trace.sources = []
    return trace
