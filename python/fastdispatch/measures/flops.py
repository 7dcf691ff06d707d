"""FLOPs of a recording at the call sites that cause them (docs/concepts/measures.md)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from fastdispatch._core import Error
from fastdispatch.measures.call_sites import CallSites
from fastdispatch.read.steps import number_of_ranks, step_time
from fastdispatch.read.summary import mapping
from fastdispatch.read.trace import Trace


@dataclass
class Work:
    """FLOPs and time of a call site."""

    forward: int = 0
    backward: int = 0
    recomputed: int = 0
    optimizer: int = 0
    elementwise: int = 0  # of all passes, in no other figure
    calls: int = 0  # of operators with a formula
    bytes: int = 0  # of their inputs
    time: int = 0  # ns, of all passes

    @property
    def flops(self) -> int:
        return self.forward + self.backward + self.recomputed + self.optimizer

    def add(self, other: Work) -> None:
        for name in _FIGURES:
            setattr(self, name, getattr(self, name) + getattr(other, name))


_FIGURES = tuple(each.name for each in fields(Work))


@dataclass
class Unknown:
    """Calls of an operator without a formula, and the bytes of their inputs."""

    calls: int = 0
    bytes: int = 0
    failed: str = ""  # exception of its formula


@dataclass
class Flops:
    """Sums over the measured steps of all ranks; times over ``timed`` steps of all ranks."""

    measured: int  # steps with figures; 0: the recording has no steps
    timed: int
    step: int  # ns, the median; without steps the recorded time
    ranks: int
    sites: dict[int, Work] = field(default_factory=dict)  # by row of trace.contexts
    unknown: dict[str, Unknown] = field(default_factory=dict)  # by operator

    @property
    def per_step(self) -> float:
        """FLOPs of a step of one rank; without steps, of the recording."""
        return sum(work.flops for work in self.sites.values()) / (self.measured or self.ranks)


def has_flops(entries: Iterable[Mapping[str, Any]]) -> bool:
    """Return whether one of the ranks measured FLOPs."""
    return any(kind in ("flops", "elementwise", "unknown") for one in entries for kind in one["measures"]["kind"])


def flops_of(trace: Trace, rank: int | None = None) -> Flops:
    """Return the FLOPs of a trace, or of one rank. Raises Error without any."""
    entries = [entry for entry in trace.ranks if rank in (None, entry["rank"])]
    trace.index(rank)
    if not has_flops(entries):
        raise Error(_nothing(trace))
    found = Flops(
        measured=measured_steps(entries),
        timed=sum(entry["steps"] for entry in entries),
        step=step_time(entries),
        ranks=number_of_ranks(entries),
    )
    if not found.measured:
        found.step = round(sum(entry["recorded"] for entry in entries) / found.ranks)
    sites = CallSites(trace)
    _add_measures(trace, entries, sites, found)
    _add_times(trace, rank, sites, found)
    return found


def _nothing(trace: Trace) -> str:
    return f"--flops: {trace.name} has no FLOPs: record with --measure flops (docs/concepts/measures.md)"


def measured_steps(entries: Iterable[Mapping[str, Any]]) -> int:
    """Return the number of measured steps of all ranks; 0: the recordings have no steps."""
    columns = (zip(entry["measures"]["kind"], entry["measures"]["count"], strict=True) for entry in entries)
    return sum(count for rows in columns for kind, count in rows if kind == "steps")


def _add_measures(trace: Trace, entries: list[dict[str, Any]], sites: CallSites, found: Flops) -> None:
    keys, nodes = trace.nodes["key"], trace.contexts["node"]
    columns = ("context", "kind", "count", "sum", "other")
    for entry in entries:
        formulas = _Formulas(trace, entry)
        for context, kind, count, total, size in zip(*(entry["measures"][name] for name in columns), strict=True):
            if formulas.inside(context):
                continue
            if kind == "unknown" and context in formulas.flops:
                kind, total = "flops", formulas.flops[context]
            if kind == "unknown":
                operator = found.unknown.setdefault(keys[nodes[context]], Unknown())
                operator.calls += count
                operator.bytes += size
                operator.failed = operator.failed or formulas.failed(context)
            elif kind in ("flops", "elementwise"):
                work = found.sites.setdefault(sites.site(context), Work())
                name = sites.passes[context] if kind == "flops" else kind
                setattr(work, name, getattr(work, name) + total)
                if kind == "flops":
                    work.calls += count
                    work.bytes += size


class _Formulas:
    """FLOPs of custom operators by formulas of the program: ``flops`` by call path, of paths whose calls are all
    known. Operators inside them are not counted again."""

    def __init__(self, trace: Trace, entry: dict[str, Any]) -> None:
        self._parents: list[int] = trace.contexts["parent"]
        self._keys = [trace.nodes["key"][node] for node in trace.contexts["node"]]
        self._facts = mapping(entry["meta"].get("flop_formulas"))
        calls, known, self.flops = Counter[int](), Counter[int](), Counter[int]()
        columns = ("context", "kind", "detail", "count") if self._facts else ()
        for context, kind, detail, count in zip(*(entry["measures"][name] for name in columns), strict=True):
            calls[context] += count if kind == "unknown" else 0
            flops = self._fact(context).get("flops")
            if kind == "shapes" and isinstance(one := mapping(flops).get(detail), int):
                known[context] += count
                self.flops[context] += count * one
        for context in [each for each in self.flops if known[each] != calls[each]]:
            del self.flops[context]

    def _fact(self, context: int) -> dict[str, Any]:
        return mapping(self._facts.get(self._keys[context]))

    def failed(self, context: int) -> str:
        return str(self._fact(context).get("failed", ""))

    def inside(self, context: int) -> bool:
        while self.flops and (context := self._parents[context]) >= 0:
            if context in self.flops:
                return True
        return False


def _add_times(trace: Trace, rank: int | None, sites: CallSites, found: Flops) -> None:
    contexts = trace.contexts if rank is None else trace.core.contexts(trace.index(rank))
    times = Counter[int]()
    for row, own in enumerate(contexts["self"]):
        if own:
            times[sites.site(row)] += own
    for row, time in times.items():
        found.sites.setdefault(row, Work()).time += time
