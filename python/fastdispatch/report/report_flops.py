"""The model of ``report --flops`` (``docs/reference/schemas/flops.schema.json``): FLOPs at their forward call sites."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, fields
from typing import Any

from fastdispatch._core import Error
from fastdispatch.measures.flops import Flops, Work, flops_of, has_flops
from fastdispatch.measures.measured import SiteGroups
from fastdispatch.measures.peaks import Peak, peak_of
from fastdispatch.read.plumbing import is_library
from fastdispatch.read.summary import mapping
from fastdispatch.read.trace import Group, Trace
from fastdispatch.report.report_facts import COMPILED
from fastdispatch.text.formats import counted

SCHEMA = "fastdispatch-flops/1"

#: Sort keys, with their field.
SORTS = {"total": "flops", "self": "own", "backward": "backward", "calls": "calls"}

_BY = ("function", "operator", "module", "package", "node")


@dataclass
class FlopRow:
    """Figures per step of a function, operator, module or package, and of all that it calls or causes."""

    where: str
    flops: float
    own: float  # without callees of the table
    forward: float
    backward: float
    recomputed: float
    optimizer: float
    elementwise: float
    calls: float  # of operators with a formula
    bytes: float  # of their inputs
    time: float  # ns
    intensity: float | None  # FLOPs per byte of these inputs; None without any
    rate: float | None  # FLOP/s; None if the time is not that of the computation


@dataclass
class UnknownRow:
    """An operator whose FLOPs are not known, per step."""

    operator: str
    calls: float
    bytes: float
    beyond: float  # calls with more shapes than a call path lists
    failed: str  # exception of its formula


@dataclass
class FlopReport:
    """FLOPs per step and rank; without steps, of the recording."""

    path: str
    by: str
    steps: int  # measured, of all ranks; 0: the recording has no steps
    ranks: int
    step: int  # ns
    gpu: bool  # whether calls ran on a GPU: rows have no rates
    total: FlopRow
    peak: Peak | None
    rows: list[FlopRow]
    more: int  # rows that are not listed
    hidden: int  # functions of libraries that only forward
    unknown: list[UnknownRow]
    compiled: int  # calls of regions of torch.compile, whose operators are not counted

    @property
    def rate(self) -> float:
        """FLOP/s of a rank, with recomputation."""
        return self.total.flops / self.step * 1e9 if self.step else 0.0

    @property
    def mfu(self) -> float | None:
        """Model FLOPs utilization: forward and backward, of the peak."""
        return None if self.peak is None else self._share(self.total.forward + self.total.backward)

    @property
    def hfu(self) -> float | None:
        """Hardware FLOPs utilization: with recomputation and the optimizer."""
        return None if self.peak is None else self._share(self.total.flops)

    def _share(self, flops: float) -> float:
        return flops / self.step * 1e9 / self.peak.rate if self.step and self.peak else 0.0

    def as_json(self) -> dict[str, Any]:
        """Return the document of ``docs/reference/schemas/flops.schema.json``."""
        return {"schema": SCHEMA, **asdict(self), "rate": self.rate, "mfu": self.mfu, "hfu": self.hfu}


def flop_report(
    trace: Trace, *, by: Group, rank: int | None, sort: str, top: int | None, hide: bool, peak: str | None
) -> FlopReport:
    """Return the ``top`` rows (None: all) by ``sort``; with ``hide``, without library functions that only forward."""
    compiled = _compiled(trace)
    measures = [mapping(mapping(rank["meta"].get("options")).get("measure")) for rank in trace.ranks]
    if compiled and not has_flops(trace.ranks) and any("flops" in measure for measure in measures):
        raise Error(
            f"--flops: {trace.name} has no FLOPs: operators inside {counted(compiled, 'call')} of a region of"
            " torch.compile are not observed, and no other operator has a formula"
        )
    found = flops_of(trace, rank)
    steps = found.measured or found.ranks
    timed = found.timed or found.ranks
    on_gpu = any(trace.contexts["gpu_calls"]) or bool(_gpus(trace))
    groups = _Groups(trace, by, found)
    rows = [
        _row(name, work, own, steps, None if on_gpu else timed, timed) for name, (work, own) in groups.sums().items()
    ]
    kept = [row for row in rows if row.own or not hide or not groups.forwards(row.where)]
    field = SORTS[sort]
    kept.sort(key=lambda row: (-getattr(row, field), -row.flops, row.where))
    whole = Work()
    for work in found.sites.values():
        whole.add(work)
    return FlopReport(
        path=trace.name,
        by=by,
        steps=found.measured,
        ranks=found.ranks,
        step=found.step,
        gpu=on_gpu,
        total=_row("", whole, whole.flops, steps, None, timed),
        peak=None if peak is None else peak_of(peak, _gpus(trace)),
        rows=kept[:top],
        more=len(kept) - len(kept[:top]),
        hidden=len(rows) - len(kept),
        unknown=[
            UnknownRow(name, each.calls / steps, each.bytes / steps, each.beyond / steps, each.failed)
            for name, each in sorted(found.unknown.items())
        ],
        compiled=compiled,
    )


def _compiled(trace: Trace) -> int:
    """Return the calls of regions of torch.compile."""
    regions = {node for node, key in enumerate(trace.nodes["key"]) if key.startswith(COMPILED)}
    columns = (trace.contexts["node"], trace.contexts["calls"])
    return sum(calls for node, calls in zip(*columns, strict=True) if node in regions)


def _gpus(trace: Trace) -> list[str]:
    return [str(rank["meta"]["gpu_name"]) for rank in trace.ranks if rank["meta"].get("gpu_name")]


def _row(where: str, work: Work, own: int, steps: int, rated: int | None, timed: int) -> FlopRow:
    figures = {each.name: getattr(work, each.name) / steps for each in fields(work) if each.name != "time"}
    time = work.time / timed
    flops = work.flops / steps
    rate = flops / time * 1e9 if rated and time else None
    intensity = work.flops / work.bytes if work.bytes else None
    return FlopRow(where=where, flops=flops, own=own / steps, time=time, intensity=intensity, rate=rate, **figures)


class _Groups:
    """Sums per group: each path counts once in the groups of the calls above it."""

    def __init__(self, trace: Trace, by: Group, found: Flops) -> None:
        if by not in _BY:
            raise Error(f"--by {by}: --flops has rows by {', '.join(_BY[:-1])} or {_BY[-1]}")
        self._groups = SiteGroups(trace, by)
        self._found = found
        table = trace.table(by)
        self._names: list[str] = table["where"]
        kinds = trace.nodes["kind"]
        self._threads = {
            group for group, node in enumerate(table["node"]) if kinds[node] == "thread" and by != "module"
        }
        self._libraries = {
            name
            for name, node in zip(self._names, table["node"], strict=True)
            if by == "function" and is_library(trace, node)
        }

    def forwards(self, name: str) -> bool:
        return name in self._libraries

    def sums(self) -> dict[str, tuple[Work, int]]:
        """Return the work and the FLOPs without callees of each group that has any."""
        made: dict[int, Work] = {}
        own = Counter[int]()
        for site, work in self._found.sites.items():
            above = self._groups.above(site)
            for group in set(above):
                made.setdefault(group, Work()).add(work)
            if above:
                own[above[0]] += work.flops
        return {
            self._names[group]: (work, own[group])
            for group, work in made.items()
            if group not in self._threads and (work.flops or work.elementwise)
        }
