"""``label`` and ``CallGraph`` as decorators of functions."""

import inspect
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import wraps
from typing import Any

from fastdispatch import _core

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
