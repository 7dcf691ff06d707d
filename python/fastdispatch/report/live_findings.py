"""First findings of a running recording, for ``fastdispatch top``."""

import time

from fastdispatch._core import Error
from fastdispatch.detectors import Findings, findings
from fastdispatch.detectors.text import SHOWN, sentence
from fastdispatch.read.live import recordings
from fastdispatch.text.formats import printable

#: Findings are read again when this many times their reading has passed: a twentieth of one processor.
_PAUSE = 19.0

#: Runs of more recordings have none: they are read as a whole for each refresh.
_MOST = 16


class LiveFindings:
    """The lines of the first findings of a run; each reading is followed by a pause in proportion to its time."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._due = 0.0

    def refresh(self, path: str) -> list[str]:
        """Return the lines, read again if the pause is over."""
        began = time.monotonic()
        if began >= self._due:
            self.lines = _lines(path)
            now = time.monotonic()
            self._due = now + _PAUSE * (now - began)
        return self.lines


def findings_now(path: str) -> Findings | None:
    """Return the findings up to now; None if the run has just begun, is gone, or has too many recordings."""
    try:
        files = recordings(path)
        return findings([str(file) for file in files]) if len(files) <= _MOST else None
    except Error:
        return None


def _lines(path: str) -> list[str]:
    found = findings_now(path)
    first = [] if found is None else found.findings[:SHOWN]
    return [printable(f"{number}. {sentence(each)}") for number, each in enumerate(first, 1)]
