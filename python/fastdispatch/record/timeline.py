"""Options of a timeline: the recorded calls, and the behaviour when it is full."""

import re
from dataclasses import dataclass, replace

from fastdispatch._core import Error

_KINDS = ("python", "ops", "ranges", "jobs")
_UNITS = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}
_PART = re.compile(r"(\w+)(?:>(\d{1,12}(?:\.\d{0,9})?)(ns|us|ms|s))?", re.ASCII)
_WHEN_FULL = ("stop", "overwrite")


@dataclass(frozen=True)
class Timeline:
    """Record the time of each call, with 24 bytes per call in the recording.

    Parameters
    ----------
    what:
        Kinds of calls with commas (or ``+``) between them: ``python``, ``ops`` (operators and autograd nodes),
        ``ranges``, ``jobs``; each may have a minimum duration: ``"ops,python>50us"``. Units are ns, us, ms and s.
    when_full:
        Events may take half of the recording's file, three eighths of ``max_mb``. Then ``"stop"`` keeps the oldest,
        and ``"overwrite"`` the latest of each thread. The recording and its pictures have the number of lost events.
    numbers:
        Let PyTorch number every operator (``Record function id`` of torch.profiler), so that ``timeline merge`` can
        connect both timelines by arrows; 24 bytes more per operator. While an ``ExecutionTraceObserver`` runs,
        operators have numbers anyway.

    Raises :class:`fastdispatch.Error` for other values.
    """

    what: str = "python,ops,ranges,jobs"
    when_full: str = "stop"
    numbers: bool = False

    def __post_init__(self) -> None:
        self.shortest()
        if self.when_full not in _WHEN_FULL:
            raise Error(f"when_full={self.when_full!r}: must be one of {', '.join(_WHEN_FULL)}")

    def shortest(self) -> dict[str, float]:
        """Return the minimum duration in nanoseconds by kind; excluded kinds are missing."""
        found = {}
        for part in re.split(r"[,+]", self.what):
            match = _PART.fullmatch(part.strip())
            if match is None or match[1] not in _KINDS:
                raise Error(
                    f"timeline={self.what!r}: {part!r}: must be one of {', '.join(_KINDS)}, or with a minimum time, "
                    "e.g. python>50us"
                )
            found[match[1]] = float(match[2]) * _UNITS[match[3]] if match[2] else 0.0
        return found

    def core(self) -> dict[str, float]:
        """Return the options of _core.Session by their names."""
        return {"overwrites": self.when_full == "overwrite", "numbers": self.numbers, **self.shortest()}


def timeline_of(value: bool | int | str | Timeline, jobs: bool = False) -> Timeline | None:
    """Parse the arguments ``timeline`` and ``jobs`` of ``CallGraph``; None for no timeline."""
    if isinstance(value, str):  # kinds with an optional behaviour when it is full: "ops,python,overwrite"
        parts = [part.strip() for part in re.split(r"[,+]", value)]
        when_full = next((part for part in parts if part in _WHEN_FULL), "stop")
        kinds = ",".join(part for part in parts if part not in _WHEN_FULL)
        value = Timeline(kinds if kinds or not value else Timeline.what, when_full)
    if not isinstance(value, Timeline):
        return Timeline() if value else Timeline("jobs") if jobs else None
    return replace(value, what=f"{value.what},jobs") if jobs and "jobs" not in value.shortest() else value
