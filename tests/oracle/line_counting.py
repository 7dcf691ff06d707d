"""Count executions of source lines with ``sys.monitoring``, or ``sys.settrace`` on Python 3.11."""

from __future__ import annotations

import sys
import threading
from collections import Counter
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

_TOOL = 1


class LineCounter:
    """``hits`` by (name of the function, its first line, line), of functions of one file."""

    def __init__(self, file: str) -> None:
        self.hits: Counter[tuple[str, int, int]] = Counter()
        self._file = file

    def _count(self, code: CodeType, line: int | None) -> None:
        if code.co_filename == self._file and line is not None:
            self.hits[code.co_name, code.co_firstlineno, line] += 1

    def _event(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "line":
            self._count(frame.f_code, frame.f_lineno)
        return self._event

    def run(self, work: Callable[[], Any]) -> Any:
        return self._traced(work) if sys.version_info < (3, 12) else self._monitored(work)

    def _traced(self, work: Callable[[], Any]) -> Any:
        threading.settrace(self._event)
        sys.settrace(self._event)
        try:
            return work()
        finally:
            sys.settrace(None)
            threading.settrace(None)  # type: ignore[arg-type]

    def _monitored(self, work: Callable[[], Any]) -> Any:
        monitoring: Any = sys.monitoring  # type: ignore[attr-defined,unused-ignore]
        monitoring.use_tool_id(_TOOL, "counter")
        monitoring.register_callback(_TOOL, monitoring.events.LINE, self._count)
        monitoring.set_events(_TOOL, monitoring.events.LINE)
        try:
            return work()
        finally:
            monitoring.set_events(_TOOL, 0)
            monitoring.register_callback(_TOOL, monitoring.events.LINE, None)
            monitoring.free_tool_id(_TOOL)
