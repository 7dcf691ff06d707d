"""FLOPs of a recording at the call sites that cause them (docs/concepts/measures.md)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from fastdispatch._core import Error
from fastdispatch.measures.call_sites import CallSites
from fastdispatch.measures.operator_flops import OperatorCalls, Precisions
from fastdispatch.read.columns import rows
from fastdispatch.read.steps import number_of_ranks, step_time
from fastdispatch.read.summary import mapping
from fastdispatch.read.trace import Trace
from fastdispatch.text.kernel_names import computes


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
    time: int = 0  # ns, of all passes; of kernels, if Flops.on_kernels
    precisions: Counter[str] = field(default_factory=Counter)  # FLOPs by precision
    model: Counter[str] = field(default_factory=Counter)  # the same of forward and backward

    @property
    def flops(self) -> int:
        return self.forward + self.backward + self.recomputed + self.optimizer

    def add(self, other: Work) -> None:
        for name in _FIGURES:
            setattr(self, name, getattr(self, name) + getattr(other, name))


_FIGURES = tuple(each.name for each in fields(Work))


@dataclass
class Unknown:
    """Calls of an operator whose FLOPs are not known, and the bytes of their inputs."""

    calls: int = 0
    bytes: int = 0
    beyond: int = 0  # calls with more shapes than a call path lists
    failed: str = ""  # exception of its formula


@dataclass
class Flops:
    """Sums over the measured steps of all ranks; times over ``timed`` steps of all ranks. ``on_kernels``: times are
    those of kernels that compute, in the steps with kernels."""

    measured: int  # steps with figures; 0: the recording has no steps
    timed: int
    step: int  # ns, the median; without steps the recorded time
    ranks: int
    on_kernels: bool
    sites: dict[int, Work] = field(default_factory=dict)  # by row of trace.contexts
    unknown: dict[str, Unknown] = field(default_factory=dict)  # by operator

    @property
    def per_step(self) -> float:
        """FLOPs of a step of one rank; without steps, of the recording."""
        return sum(work.flops for work in self.sites.values()) / (self.measured or self.ranks)


def has_flops(entries: Iterable[Mapping[str, Any]]) -> bool:
    """Return whether one of the ranks has shapes that FLOPs are derived from."""
    return any("shapes" in one["measures"]["kind"] for one in entries)


def flops_of(trace: Trace, rank: int | None = None) -> Flops:
    """Return the FLOPs of a trace, or of one rank. Raises Error without any."""
    entries = [entry for entry in trace.ranks if rank in (None, entry["rank"])]
    trace.index(rank)
    if not has_flops(entries):
        raise Error(f"--flops: {trace.name} has no FLOPs: record with --measure flops (docs/concepts/measures.md)")
    on_kernels = all(map(_has_kernels, entries))
    found = Flops(
        measured=measured_steps(entries),
        timed=sum(int(entry["meta"]["gpu_steps"]) if on_kernels else entry["steps"] for entry in entries),
        step=step_time(entries),
        ranks=number_of_ranks(entries),
        on_kernels=on_kernels,
    )
    if not found.measured:
        found.step = round(sum(entry["recorded"] for entry in entries) / found.ranks)
    sites = CallSites(trace)
    _add_measures(trace, entries, sites, found)
    _add_times(trace, rank, sites, found)
    return found


def _has_kernels(entry: Mapping[str, Any]) -> bool:
    """Return whether the kernels of all recorded steps of a rank are known."""
    known = mapping(entry["meta"].get("gpu_kernels"))
    return bool(known.get("kernels")) and "problem" not in known and bool(entry["meta"].get("gpu_steps"))


def measured_steps(entries: Iterable[Mapping[str, Any]]) -> int:
    """Return the number of measured steps of all ranks; 0: the recordings have no steps."""
    measures = (each for entry in entries for each in rows(entry["measures"], "kind count"))
    return sum(count for kind, count in measures if kind == "steps")


def _add_measures(trace: Trace, entries: list[dict[str, Any]], sites: CallSites, found: Flops) -> None:
    keys, nodes = trace.nodes["key"], trace.contexts["node"]
    operators, precisions = OperatorCalls(trace), Precisions(trace)
    for each in (each for entry in entries for each in operators.of(entry)):
        if each.kind == "unknown":
            operator = found.unknown.setdefault(keys[nodes[each.context]], Unknown())
            operator.calls += each.calls
            operator.bytes += each.bytes
            operator.beyond += each.beyond
            operator.failed = operator.failed or each.failed
            continue
        work = found.sites.setdefault(sites.site(each.context), Work())
        name = sites.passes[each.context] if each.kind == "flops" else each.kind
        setattr(work, name, getattr(work, name) + each.flops)
        if each.kind == "flops":
            work.calls += each.calls
            work.bytes += each.bytes
            for dtype, flops in each.dtypes.items():
                for sums in (work.precisions, *([work.model] if name in ("forward", "backward") else [])):
                    sums[precisions.of(each.context, dtype)] += flops


def _add_times(trace: Trace, rank: int | None, sites: CallSites, found: Flops) -> None:
    contexts = trace.contexts if rank is None else trace.core.contexts(trace.index(rank))
    times = Counter[int]()
    names, kinds = trace.nodes["name"], trace.nodes["kind"]
    for row, own in enumerate(contexts["gpu_self" if found.on_kernels else "self"]):
        node = contexts["node"][row]
        if own and not (found.on_kernels and (kinds[node] != "kernel" or not computes(names[node]))):
            times[sites.site(row)] += own
    for row, time in times.items():
        found.sites.setdefault(row, Work()).time += time
