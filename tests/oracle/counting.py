"""Count calls with ``sys.setprofile``."""

import sys
import threading
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable
from types import FrameType
from typing import Any

from tests.oracle.keys import Keys

_RESUMABLE = 0x20 | 0x80 | 0x200  # generators, coroutines, asynchronous generators


class ProfileCounter(ABC):
    """Runs work with its ``_event`` as the profile function of all threads."""

    @abstractmethod
    def _event(self, frame: FrameType, event: str, argument: Any) -> None:
        """Count an event of ``sys.setprofile``."""

    def run(self, work: Callable[[], Any]) -> Any:
        threading.setprofile(self._event)
        sys.setprofile(self._event)
        try:
            return work()
        finally:
            sys.setprofile(None)
            threading.setprofile(None)  # type: ignore[arg-type]


class CallCounter(ProfileCounter):
    """``calls`` of plain functions and ``resumes`` of generators and coroutines, by key."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self.resumes: Counter[str] = Counter()
        self._keys = Keys()

    def _event(self, frame: FrameType, event: str, argument: object) -> None:
        if event == "call":
            resumable = frame.f_code.co_flags & _RESUMABLE
            (self.resumes if resumable else self.calls)[self._keys.key(frame)] += 1
