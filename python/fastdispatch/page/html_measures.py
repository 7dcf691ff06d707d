"""MeasuredWeight figures as weights of the page: FLOPs, allocated and communicated bytes per call path.

They are those of ``report --flops``, ``--memory`` and ``--comm``: FLOPs per step and blocks of memory count at the
forward call that caused them, bytes of communication at the call itself.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from fastdispatch.measures.call_sites import CallSites
from fastdispatch.measures.flops import flops_of, has_flops
from fastdispatch.measures.measured import communicated
from fastdispatch.measures.memory_figures import has_memory, memory_of
from fastdispatch.read.trace import Trace


@dataclass(frozen=True)
class MeasuredWeight:
    """A weight; ``column`` has its own value of each context, without callees."""

    id: str
    label: str
    unit: str  # FLOP or B
    column: list[float]


def measured(trace: Trace, rank: int | None = None) -> list[MeasuredWeight]:
    """Return the measured weights of all ranks, or of the one with this number; empty without ``measure``."""
    entries = [entry for entry in trace.ranks if rank in (None, entry["rank"])]
    found = []
    if has_flops(entries):
        found.append(_flops(trace, rank))
    if any(has_memory(entry) for entry in entries):
        found.append(_allocated(trace, rank))
    if comm := communicated(entries):
        bytes_of = Counter[int]()
        for (context, _, _), (_, _, sent, received) in comm.items():
            bytes_of[context] += max(sent, received)
        found.append(MeasuredWeight("comm", "Communicated bytes", "B", _column(trace, bytes_of)))
    return found


def _flops(trace: Trace, rank: int | None) -> MeasuredWeight:
    found = flops_of(trace, rank)
    over = found.measured or found.ranks
    values = {row: work.flops / over for row, work in found.sites.items()}
    label = "FLOPs per step" if found.measured else "FLOPs"
    return MeasuredWeight("flops", label, "FLOP", _column(trace, values))


def _allocated(trace: Trace, rank: int | None) -> MeasuredWeight:
    sites = CallSites(trace)
    bytes_of = Counter[int]()
    for entry in trace.ranks:
        if rank in (None, entry["rank"]) and has_memory(entry):
            for device in memory_of(trace, entry, sites)[0]:
                for path in device.paths.values():
                    bytes_of[sites.site(path.context)] += path.allocated
    return MeasuredWeight("memory", "Allocated bytes", "B", _column(trace, bytes_of))


def _column(trace: Trace, values: Mapping[int, float]) -> list[float]:
    return [values.get(row, 0) for row in range(len(trace.contexts["node"]))]
