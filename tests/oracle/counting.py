"""Count calls of Python and C functions with ``sys.setprofile``."""

import sys
import threading
from collections import Counter
from collections.abc import Callable
from types import BuiltinFunctionType, FrameType, FunctionType, ModuleType
from typing import Any

from tests.oracle.keys import Keys

_RESUMABLE = 0x20 | 0x80 | 0x200  # generators, coroutines, asynchronous generators


class CallCounter:
    """``calls`` of plain functions and ``resumes`` of generators and coroutines, by key."""

    def __init__(self) -> None:
        self.calls: Counter[Any] = Counter()
        self.resumes: Counter[str] = Counter()
        self._keys = Keys()

    def _event(self, frame: FrameType, event: str, argument: Any) -> None:
        if event == "call":
            resumable = frame.f_code.co_flags & _RESUMABLE
            (self.resumes if resumable else self.calls)[self._keys.key(frame)] += 1

    def run(self, work: Callable[[], Any]) -> Any:
        """Run work with ``_event`` as the profile function of all threads."""
        threading.setprofile(self._event)
        sys.setprofile(self._event)
        try:
            return work()
        finally:
            sys.setprofile(None)
            threading.setprofile(None)  # type: ignore[arg-type]


class CCallCounter(CallCounter):
    """``calls`` by (key of the calling Python function, key of the C function), of functions called below ``root``."""

    def __init__(self, root: str) -> None:
        super().__init__()
        self._root = root

    def _event(self, frame: FrameType, event: str, argument: Any) -> None:
        if event == "c_call" and self._is_below(frame):
            self.calls[self._keys.key(frame), key(argument)] += 1

    def _is_below(self, frame: FrameType | None) -> bool:
        while frame is not None and frame.f_code.co_name != self._root:
            frame = frame.f_back
        return frame is not None


def key(function: BuiltinFunctionType) -> str:
    """``module:[class]:name``: the module that defines it, the class of the object that it is called on."""
    owner, name = function.__self__, function.__name__
    if owner is None or isinstance(owner, ModuleType):
        return f"{function.__module__ or 'builtins'}:[]:{name}"
    kind = owner if isinstance(owner, type) else type(owner)
    return f"{_defining(kind, name).__module__}:[{kind.__name__}]:{name}"


def _defining(kind: type, name: str) -> type:
    return next(base for base in kind.__mro__ if name in vars(base) and not isinstance(vars(base)[name], FunctionType))
