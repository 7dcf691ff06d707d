"""Measured figures by call site: FLOPs, bytes that operators read, communicated and allocated bytes."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from fastdispatch._core import Error
from fastdispatch.measures.call_sites import CallSites
from fastdispatch.measures.flops import flops_of, has_flops, measured_steps
from fastdispatch.measures.memory_report import DeviceMemory, has_memory, memory_of
from fastdispatch.read.columns import rows
from fastdispatch.read.steps import number_of_ranks
from fastdispatch.read.trace import Group, Trace

#: The figures, with the measure that records them (``--measure``) and their name in sentences.
FIGURES = {
    "flops": ("flops", "FLOPs"),
    "bytes": ("flops", "bytes of operators"),
    "communicated": ("comm", "communicated bytes"),
    "allocated": ("memory", "allocated bytes"),
}


@dataclass
class Measured:
    """Figures by name, then by call site (row of ``trace.contexts``), of one rank: the mean of all. FLOPs and bytes of
    operators and communication are per measured step, or of the recording without steps; allocated bytes are of the
    recording. ``peaks``: bytes at the peak of each device, by call site; of several ranks, of the one with the highest
    peak."""

    by_step: bool
    figures: dict[str, dict[int, float]]
    peaks: dict[str, dict[int, float]]

    def total(self, name: str) -> float:
        return sum(self.figures[name].values())


class SiteGroups:
    """The rows of ``trace.table(by)`` that a call path is in: its own, and those of its callers."""

    def __init__(self, trace: Trace, by: Group) -> None:
        self._rows = trace.core.groups(by)
        self._parents: list[int] = trace.contexts["parent"]

    def above(self, context: int) -> list[int]:
        """Return these rows, the innermost first."""
        made = []
        while context >= 0:
            if self._rows[context] >= 0:
                made.append(self._rows[context])
            context = self._parents[context]
        return made

    def sums(self, figures: Mapping[int, float]) -> dict[int, float]:
        """Return the sum of each row, with its callees: a path counts once in a row."""
        made: dict[int, float] = {}
        for context, value in figures.items():
            for row in set(self.above(context)):
                made[row] = made.get(row, 0) + value
        return made


def communicated(entries: Iterable[Mapping[str, Any]]) -> dict[tuple[int, str, int], list[int]]:
    """Return the sums of communication over ranks by context, element type and group, and flags: ranks, calls, bytes
    sent and received."""
    sums: dict[tuple[int, str, int], list[int]] = {}
    names = "kind context detail flags count sum other"
    for entry in entries:
        for kind, context, detail, flags, *figures in rows(entry.get("measures") or {}, names):
            if kind == "comm":
                row = sums.setdefault((context, detail, flags), [0, 0, 0, 0])
                row[:] = (a + b for a, b in zip(row, (1, *figures), strict=True))
    return sums


def measured(trace: Trace, rank: int | None = None) -> Measured:
    """Return the figures that a trace, or one of its ranks, has."""
    trace.index(rank)
    entries = [entry for entry in trace.ranks if rank in (None, entry["rank"])]
    ranks = number_of_ranks(entries)
    steps = measured_steps(entries) or ranks
    made = Measured(measured_steps(entries) > 0, {}, {})
    sums = communicated(entries)
    if not (sums or has_flops(entries) or any(map(has_memory, entries))):
        return made
    sites = CallSites(trace)
    if has_flops(entries):
        found = flops_of(trace, rank).sites
        made.figures["flops"] = {site: work.flops / steps for site, work in found.items() if work.flops}
        made.figures["bytes"] = {site: work.bytes / steps for site, work in found.items() if work.bytes}
    if sums:
        moved = Counter[int]()
        for (context, _, _), (_, _, sent, received) in sums.items():
            moved[sites.site(context)] += max(sent, received)
        made.figures["communicated"] = {site: each / steps for site, each in moved.items()}
    _add_memory(trace, entries, sites, made)
    return made


def _add_memory(trace: Trace, entries: list[dict[str, Any]], sites: CallSites, made: Measured) -> None:
    found = [device for entry in entries if has_memory(entry) for device in memory_of(trace, entry, sites)[0]]
    allocated = Counter[int]()
    highest: dict[str, DeviceMemory] = {}
    for device in found:
        for context, path in device.paths.items():
            allocated[sites.site(context)] += path.allocated
        if device.device not in highest or device.peak > highest[device.device].peak:
            highest[device.device] = device
    for name, device in highest.items():
        at_peak = Counter[int]()
        for context, path in device.paths.items():
            at_peak[sites.site(context)] += path.peak
        made.peaks[name] = {site: value for site, value in at_peak.items() if value}
    if found:
        made.figures["allocated"] = {site: each / len(entries) for site, each in allocated.items()}


def required(made: Measured, name: str, option: str, shown: str) -> Mapping[int, float]:
    """Return a figure. Raises Error with one line if it was not recorded."""
    if name not in made.figures:
        measure, words = FIGURES[name]
        raise Error(f"{option}: {shown} has no {words}: record with --measure {measure} (docs/concepts/measures.md)")
    return made.figures[name]
