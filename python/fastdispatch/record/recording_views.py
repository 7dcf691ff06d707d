"""The finished or running recording of a ``CallGraph``, as a trace."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import wraps
from typing import TYPE_CHECKING, Any

from fastdispatch import _core

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


Function = Callable[..., Any]


def labelled(name: str, function: Function) -> Function:
    """Return a function whose calls are below a range of this name."""
    return within("label", lambda: _core.label(name), function)


def within(what: str, context: Callable[[], AbstractContextManager[Any]], function: Function) -> Function:
    """Return a function or coroutine function that runs inside a new context at each call."""
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise _core.Error(f"{what} decorates functions, and {function.__name__} is a generator: use `with` inside it")
    if not callable(function) or inspect.isclass(function):
        raise _core.Error(f"{what} decorates functions, not {type(function).__name__!r} objects")
    if inspect.iscoroutinefunction(function):

        @wraps(function)
        async def awaited(*args: Any, **kwargs: Any) -> Any:
            with context():
                return await function(*args, **kwargs)

        return awaited

    @wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        with context():
            return function(*args, **kwargs)

    return called
