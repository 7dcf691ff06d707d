"""The model of ``report --flops`` (``docs/reference/schemas/flops.schema.json``): FLOPs at their forward call sites."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Annotated, Any, Literal

from fastdispatch._core import Error
from fastdispatch.measures.flops import Flops, Work, flops_of, has_flops
from fastdispatch.measures.measured import SiteGroups
from fastdispatch.measures.peaks import Peak, Peaks, peaks_of
from fastdispatch.read.compilations import COMPILED
from fastdispatch.read.plumbing import is_library
from fastdispatch.read.summary import mapping
from fastdispatch.read.trace import Group, Trace
from fastdispatch.text.formats import AT_LEAST_0, Count, Figure, counted

#: Sort keys, with their field.
SORTS = {"total": "flops", "self": "own", "backward": "backward", "calls": "calls"}

_OF_WORK = ("flops", "forward", "backward", "recomputed", "optimizer", "elementwise", "calls", "bytes")

_REPLAY = "torch/cuda/graphs.py:[CUDAGraph]:replay"

_BY = ("function", "operator", "module", "package", "node")


@dataclass
class FlopRow:
    """Figures per step of a function, operator, module or package, and of all that it calls or causes."""

    where: str
    flops: Annotated[Figure, "the sum of the four passes, with callees"]
    own: Annotated[Figure, "without callees that have a row"]
    forward: Figure
    backward: Figure
    recomputed: Annotated[Figure, "by checkpointing"]
    optimizer: Figure
    elementwise: Annotated[Figure, "in no other figure"]
    calls: Annotated[Figure, "of operators with a formula"]
    bytes: Annotated[Figure, "of the inputs of these operators"]
    time: Annotated[Figure, "ns of all passes; of kernels with on_kernels, else on the CPU"]
    intensity: Annotated[float | None, AT_LEAST_0, "FLOPs per byte of these inputs; null without any"]
    rate: Annotated[float | None, AT_LEAST_0, "FLOP/s; null for calls on a GPU without on_kernels"]
    of_peak: Annotated[float | None, AT_LEAST_0, "the rate by the peak, 0 to 1; null if that of some FLOPs is unknown"]


@dataclass
class UnknownRow:
    """An operator whose FLOPs are not known, per step."""

    operator: str
    calls: Figure
    bytes: Figure
    beyond: Annotated[Figure, "calls with more shapes than a call path lists"]
    failed: Annotated[str, "exception of its formula; empty without"]


@dataclass
class FlopReport:
    """Floating-point operations at the forward calls that cause them (docs/concepts/measures.md). Figures are per step
    and rank; without steps, of the recording."""

    path: str
    by: Annotated[str, {"enum": [*_BY]}]
    steps: Annotated[Count, "measured steps of all ranks; 0: no steps"]
    ranks: Annotated[int, {"minimum": 1}]
    step: Annotated[Count, "ns, the median; without steps the recorded time"]
    gpu: Annotated[bool, "whether the recording has calls on a GPU"]
    on_kernels: Annotated[
        bool, "whether times are those of kernels that compute, without communication, copies and fills"
    ]
    total: FlopRow
    peak: Annotated[Peak | None, "of one device, for its FLOPs of forward and backward"]
    undecided: Annotated[
        dict[str, Figure], "FLOPs without a known peak by element type, if others have one; they are in no utilization"
    ]
    rows: list[FlopRow]
    more: Annotated[Count, "rows that are not listed"]
    hidden: Annotated[Count, "functions of libraries that only forward"]
    unknown: Annotated[
        list[UnknownRow], "operators without a formula, and calls whose FLOPs cannot be derived from their shapes"
    ]
    compiled: Annotated[
        Count, "calls of regions of torch.compile in the selected steps, whose operators are not counted"
    ]
    replays: Annotated[
        Count,
        "replays of CUDA graphs, whose operators are not counted; with them, compiled, unknown or undecided, "
        "utilizations are lower bounds",
    ]
    mfu: Annotated[float | None, AT_LEAST_0, "forward and backward, of the peak, 0 to 1; null without a peak"]
    hfu: Annotated[float | None, AT_LEAST_0, "all passes, of the peak"]
    rate: Annotated[Figure, "FLOP/s of a rank, with recomputation"] = field(init=False)
    schema: Literal["fastdispatch-flops/1"] = "fastdispatch-flops/1"

    def __post_init__(self) -> None:
        self.rate = self.total.flops / self.step * 1e9 if self.step else 0.0

    @property
    def not_counted(self) -> list[str]:
        """Return what no FLOPs are known of, beside operators without a formula."""
        regions = counted(self.compiled, "call") + " of a region of torch.compile" if self.compiled else ""
        graphs = counted(self.replays, "replay") + " of CUDA graphs" if self.replays else ""
        return [f"operators inside {part}" for part in (regions, graphs) if part]

    @property
    def without_peak(self) -> list[str]:
        """Return the FLOPs that are in no utilization."""
        return [
            f"{100 * flops / self.total.flops:.3g} % of the FLOPs ({dtype or 'unknown type'}"
            f"{', which may use TF32' if dtype == 'float32' else ''})"
            for dtype, flops in self.undecided.items()
        ]

    @property
    def at_least(self) -> bool:
        """Whether utilizations are lower bounds."""
        return bool(self.not_counted or self.without_peak or self.unknown)

    def as_json(self) -> dict[str, Any]:
        """Return the document of ``docs/reference/schemas/flops.schema.json``."""
        return asdict(self)


def flop_report(
    trace: Trace, *, by: Group, rank: int | None, sort: str, top: int | None, hide: bool, peak: str | None
) -> FlopReport:
    """Return the ``top`` rows (None: all) by ``sort``; with ``hide``, without library functions that only forward."""
    compiled = _calls(trace, COMPILED)
    measures = [mapping(mapping(rank["meta"].get("options")).get("measure")) for rank in trace.ranks]
    if compiled and not has_flops(trace.ranks) and any("flops" in measure for measure in measures):
        raise Error(
            f"--flops: {trace.name} has no FLOPs: operators inside {counted(compiled, 'call')} of a region of"
            " torch.compile are not observed, and no other operator has a formula"
        )
    found = flops_of(trace, rank)
    peaks = peaks_of(peak, _gpus(trace))
    scale = _Scale(found, peaks)
    on_gpu = any(trace.contexts["gpu_calls"]) or bool(_gpus(trace))
    groups = _Groups(trace, by, found)
    rated = found.on_kernels or not on_gpu
    rows = [scale.row(name, work, own, rated) for name, (work, own) in groups.sums().items()]
    kept = [row for row in rows if row.own or not hide or row.where not in groups.libraries]
    field = SORTS[sort]
    kept.sort(key=lambda row: (-getattr(row, field), -row.flops, row.where))
    whole = Work()
    for work in found.sites.values():
        whole.add(work)
    known = None if peaks is None else peaks.mean(whole.model)
    return FlopReport(
        path=trace.name,
        by=by,
        steps=found.measured,
        ranks=found.ranks,
        step=found.step,
        gpu=on_gpu,
        on_kernels=found.on_kernels,
        total=scale.row("", whole, whole.flops, False),
        peak=known,
        undecided={} if peaks is None else scale.per_step(peaks.undecided(whole.precisions)),
        rows=kept[:top],
        more=len(kept) - len(kept[:top]),
        hidden=len(rows) - len(kept),
        unknown=[
            UnknownRow(name, each.calls / scale.steps, each.bytes / scale.steps, each.beyond / scale.steps, each.failed)
            for name, each in sorted(found.unknown.items())
        ],
        compiled=compiled,
        replays=_calls(trace, _REPLAY),
        mfu=None if known is None else scale.utilization(whole.model),
        hfu=None if known is None else scale.utilization(whole.precisions),
    )


class _Scale:
    """Figures per step, and their shares of the peaks."""

    def __init__(self, found: Flops, peaks: Peaks | None) -> None:
        self.steps = found.measured or found.ranks
        self._timed = found.timed or found.ranks
        self._step = found.step
        self._peaks = peaks

    def per_step(self, flops: Mapping[str, float]) -> dict[str, float]:
        return {precision: count / self.steps for precision, count in flops.items()}

    def utilization(self, flops: Mapping[str, float]) -> float:
        """Return the time at the peak by the time of the step; 0 without a peak."""
        return self._at_peak(flops) / self._step * 1e9 if self._step else 0.0

    def _at_peak(self, flops: Mapping[str, float]) -> float:
        return 0.0 if self._peaks is None else self._peaks.time(self.per_step(flops))

    def row(self, where: str, work: Work, own: int, rated: bool) -> FlopRow:
        figures = {name: getattr(work, name) / self.steps for name in _OF_WORK}
        time = work.time / self._timed
        decided = self._peaks is not None and not self._peaks.undecided(work.precisions)
        return FlopRow(
            where=where,
            own=own / self.steps,
            time=time,
            intensity=work.flops / work.bytes if work.bytes else None,
            rate=figures["flops"] / time * 1e9 if rated and time else None,
            of_peak=self._at_peak(work.precisions) / time * 1e9 if rated and time and decided else None,
            **figures,
        )


def _calls(trace: Trace, beginning: str) -> int:
    """Return the calls of nodes whose key has this beginning."""
    found = {node for node, key in enumerate(trace.nodes["key"]) if key.startswith(beginning)}
    columns = (trace.contexts["node"], trace.contexts["calls"])
    return sum(calls for node, calls in zip(*columns, strict=True) if node in found)


def _gpus(trace: Trace) -> list[str]:
    return [str(rank["meta"]["gpu_name"]) for rank in trace.ranks if rank["meta"].get("gpu_name")]


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
        self.libraries = {
            name
            for name, node in zip(self._names, table["node"], strict=True)
            if by == "function" and is_library(trace, node)
        }

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
