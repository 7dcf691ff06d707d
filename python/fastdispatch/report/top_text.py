"""A sample of a running recording as text."""

import time
from collections.abc import Iterator, Sequence

from rich.table import Table
from rich.text import Text

from fastdispatch._core import Error
from fastdispatch.detectors import Findings, findings
from fastdispatch.detectors.model import SHOWN, sentence
from fastdispatch.read.live import Rate, Sample, recordings
from fastdispatch.report.processes_text import lines
from fastdispatch.report.terminal import table
from fastdispatch.text.formats import counted, grouped, printable, rounded_share, seconds

TITLES = ("calls/s", "self", "total", "where")


def head(before: Sample | None, after: Sample) -> str:
    ranks = after.ranks
    steps = [rank["run_steps"] for rank in ranks]
    span = f"step {min(steps)}" if min(steps) == max(steps) else f"steps {min(steps)} to {max(steps)}"
    rate = ""
    if before is not None and after.at > before.at:
        done = max(steps) - max((rank["run_steps"] for rank in before.ranks), default=0)
        rate = f", {done / (after.at - before.at):.3g} steps/s"
    recorded = seconds(max(rank["recorded"] for rank in ranks))
    paused = sum(rank["state"] == "paused" for rank in ranks) if after.ended < len(ranks) else 0
    states = "".join(f", {count} {word}" for count, word in ((paused, "paused"), (after.ended, "ended")) if count)
    damaged = [str(rank["rank"]) for rank in ranks if not rank["complete"]]
    damage = f"INCOMPLETE, truncated or damaged: rank {', '.join(damaged)}; " if damaged else ""
    return f"{damage}{counted(len(ranks), 'rank')}{states}, {span}{rate}, recorded {recorded}"


def cells(rate: Rate) -> tuple[str, str, str, str]:
    calls = grouped(round(rate.calls)) if rate.calls >= 10 else f"{rate.calls:.1f}"
    return calls, rounded_share(rate.own), rounded_share(rate.total), printable(rate.key)


def parts(
    before: Sample | None, after: Sample, found: list[Rate], findings: Sequence[str] = ()
) -> Iterator[Text | Table]:
    yield Text(head(before, after))
    for line in findings:
        yield Text(line)
    yield table(TITLES, [cells(rate) for rate in found], TITLES[-1:])
    if not found:
        yield Text("nothing was recorded in this interval")
    for line in lines(after.processes):
        yield Text(printable(line), style="dim")


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
