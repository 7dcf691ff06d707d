"""Changes of measured figures between two recordings: GPU time, FLOPs, communicated bytes and the peak of memory."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from fastdispatch.measures.call_sites import CallSites
from fastdispatch.measures.measured import Measured, measured
from fastdispatch.read.gpu_time import gpu_steps
from fastdispatch.read.steps import number_of_ranks
from fastdispatch.read.summary import entries_of, path_of
from fastdispatch.read.trace import Trace

#: Changes of FLOPs and communicated bytes above this share are real: they are counts. Peaks depend on the moment at
#: which other threads free their blocks, and kernels do not take the same time in two runs.
_EXACT, _PEAK, _SMALL_BLOCKS, _GPU = 1e-9, 1e-3, 4096.0, 1e-2

#: Figures that are compared, with their names in sentences.
_NAMES = {"flops": "FLOPs", "communicated": "communicated bytes"}


@dataclass(frozen=True)
class Pair:
    """A figure of one step (of the whole run if a side has no steps), before and after; times in ns."""

    before: float
    after: float

    @property
    def change(self) -> float:
        return self.after - self.before


@dataclass(frozen=True)
class MeasuredPath(Pair):
    """A figure of a function of the program, or of an operator outside of any, without the functions that it calls."""

    key: str


@dataclass(frozen=True)
class MeasuredChange:
    """A figure that both sides have: GPU time in ns, FLOPs or communicated bytes of a step and rank (of a rank without
    steps), or the peak of a device. ``paths``: the changed ones, the largest change first."""

    figure: str  # gpu, flops, communicated or peak
    name: str
    before: float
    after: float
    paths: list[MeasuredPath]

    @property
    def shown(self) -> bool:
        """Whether it is printed: if it has changed; GPU time always."""
        return self.figure == "gpu" or self.changed

    @property
    def changed(self) -> bool:
        return differs(self.figure, self.before, self.after, max(self.before, self.after)) or bool(self.paths)

    def as_json(self) -> dict[str, Any]:
        paths = [{"key": path.key, "figure": [path.before, path.after]} for path in self.paths]
        return {"figure": self.figure, "name": self.name, "total": [self.before, self.after], "paths": paths}


def differs(figure: str, before: float, after: float, whole: float) -> bool:
    """Return whether a change is more than the limit for its figure, a share of the whole; of a peak also more than the
    small blocks of other threads, which are live at the peak of one run and freed at that of another."""
    limits = {"peak": max(_PEAK * whole, _SMALL_BLOCKS), "gpu": _GPU * whole}
    return abs(after - before) > limits.get(figure, _EXACT * whole)


@dataclass(frozen=True)
class MeasuredDiff:
    """Figures of both sides, and those that only one has or that have no common unit."""

    figures: list[MeasuredChange]
    missing: list[str]

    @property
    def shown(self) -> list[MeasuredChange]:
        return [each for each in self.figures if each.shown]


def measured_diff(traces: tuple[Trace, Trace], ranks: tuple[int | None, int | None], by_step: bool) -> MeasuredDiff:
    """Compare the figures. ``by_step``: GPU times are those of a step, else those of whole runs."""
    found = [measured(trace, rank) for trace, rank in zip(traces, ranks, strict=True)]
    before, after = (
        _figures(trace, each, _gpu_times(trace, rank, by_step))
        for trace, rank, each in zip(traces, ranks, found, strict=True)
    )
    figures, missing = [], []
    for figure, name in dict.fromkeys([*before, *after]):
        was, now = before.get((figure, name)), after.get((figure, name))
        if was is None or now is None:
            are, them = ("is", "it") if figure == "gpu" else ("are", "them")
            missing.append(f"{name} {are} not compared: only one side has {them}")
        elif figure not in ("peak", "gpu") and found[0].by_step != found[1].by_step:
            missing.append(f"{name} are not compared: only one side has steps")
        else:
            figures.append(_change(figure, name, was, now))
    return MeasuredDiff(figures, missing)


def _change(figure: str, name: str, before: dict[str, float], after: dict[str, float]) -> MeasuredChange:
    totals = sum(before.values()), sum(after.values())
    paths = [MeasuredPath(before.get(key, 0.0), after.get(key, 0.0), key) for key in {**before, **after}]
    changed = [each for each in paths if differs(figure, each.before, each.after, max(totals))]
    return MeasuredChange(figure, name, *totals, sorted(changed, key=lambda each: (-abs(each.change), each.key)))


def _gpu_times(trace: Trace, rank: int | None, by_step: bool) -> dict[int, float]:
    """Return the time of kernels by call site, as of FLOPs; empty if no kernels were recorded."""
    entries = entries_of(trace, rank)
    contexts, kinds = trace.core.contexts(trace.index(rank)), trace.nodes["kind"]
    rows = zip(contexts["node"], contexts["gpu_self"], strict=True)
    times = {row: time for row, (node, time) in enumerate(rows) if time and kinds[node] == "kernel"}
    if not times:
        return {}
    sites, steps = CallSites(trace), (gpu_steps(entries)[0] if by_step else 0) or number_of_ranks(entries)
    made: dict[int, float] = defaultdict(float)
    for row, time in times.items():
        made[sites.site(row)] += time / steps
    return made


def _figures(trace: Trace, found: Measured, gpu: dict[int, float]) -> dict[tuple[str, str], dict[str, float]]:
    """Return the figures by kind and name, then by the key of the innermost function of the program at or above a site,
    or of the site itself."""
    figures = {("gpu", "GPU time"): gpu} if gpu else {}
    figures |= {(figure, name): found.figures[figure] for figure, name in _NAMES.items() if figure in found.figures}
    figures |= {("peak", f"bytes at the peak of {device}"): sites for device, sites in found.peaks.items()}
    nodes, node_of = trace.nodes, trace.contexts["node"]
    of_user = [kind == "python" and of == "project" for kind, of in zip(nodes["kind"], nodes["from"], strict=True)]
    made: dict[tuple[str, str], dict[str, float]] = {name: {} for name in figures}
    for name, sites in figures.items():
        for site, value in sites.items():
            above = (node_of[row] for row in path_of(trace.contexts, site))
            node = next((node for node in above if of_user[node]), node_of[site])
            key = nodes["key"][node].partition("@")[0]
            made[name][key] = made[name].get(key, 0) + value
    return made
