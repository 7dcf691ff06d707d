"""Data of a trace for the page: tables of nodes, contexts, modules and ranks, and weights of frames.

Figures are self values of contexts, without callees; the page adds them up for any part of the tree.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from fastdispatch.measures.call_sites import CallSites
from fastdispatch.measures.flops import flops_of, has_flops
from fastdispatch.measures.measured import communicated
from fastdispatch.measures.memory_report import has_memory, memory_of
from fastdispatch.read.compilations import kernel_origins
from fastdispatch.read.plumbing import plumbing
from fastdispatch.read.steps import PHASE_BITS, PHASES
from fastdispatch.read.summary import entries_of
from fastdispatch.read.trace import Columns, Trace
from fastdispatch.report.compiler_text import origin_text
from fastdispatch.report.report_facts import Facts
from fastdispatch.text.formats import module_pattern
from fastdispatch.text.kernel_names import short_kernel_name


@dataclass(frozen=True)
class PageWeight:
    """A figure of contexts, and its column in tables of contexts. ``inclusive``: the column includes callees."""

    id: str
    label: str
    unit: str  # ns, count, FLOP or B
    column: str
    inclusive: bool = False


WEIGHTS = (
    PageWeight("time", "Time", "ns", "self"),
    PageWeight("gpu", "GPU time", "ns", "gpu_self"),
    PageWeight("backward", "Backward time", "ns", "backward", True),
    PageWeight("calls", "Calls", "count", "calls"),
    PageWeight("ops", "Operators", "count", "ops", True),
    PageWeight("async", "Asynchronous time", "ns", "async"),
    PageWeight("starved", "GPU idle", "ns", "gpu_starved", True),
    PageWeight("gpu_calls", "GPU intervals", "count", "gpu_calls"),
    PageWeight("resumes", "Resumes", "count", "resumes"),
)

#: Measured weights, with their own values of each context, without callees.
MeasuredColumns = list[tuple[PageWeight, list[float]]]


def measured(trace: Trace, rank: int | None = None) -> MeasuredColumns:
    """Return the measured weights of all ranks, or of the one with this number; empty without ``measure``."""
    entries = entries_of(trace, rank)
    found: list[tuple[str, str, str, Mapping[int, float]]] = []
    if has_flops(entries):
        flops = flops_of(trace, rank)
        over = flops.measured or flops.ranks
        values = {row: work.flops / over for row, work in flops.sites.items()}
        found.append(("flops", "FLOPs per step" if flops.measured else "FLOPs", "FLOP", values))
    if any(has_memory(entry) for entry in entries):
        found.append(("memory", "Allocated bytes", "B", _allocated(trace, entries)))
    if comm := communicated(entries):
        bytes_of = Counter[int]()
        for (context, _, _), (_, _, sent, received) in comm.items():
            bytes_of[context] += max(sent, received)
        found.append(("comm", "Communicated bytes", "B", bytes_of))
    rows = range(len(trace.contexts["node"]))
    return [
        (PageWeight(id, label, unit, id), [values.get(row, 0) for row in rows]) for id, label, unit, values in found
    ]


def _allocated(trace: Trace, entries: Sequence[dict[str, Any]]) -> Mapping[int, int]:
    sites = CallSites(trace)
    bytes_of = Counter[int]()
    for entry in filter(has_memory, entries):
        for device in memory_of(trace, entry, sites)[0]:
            for path in device.paths.values():
                bytes_of[sites.site(path.context)] += path.allocated
    return bytes_of


#: Kinds without a package, and their group.
_GROUPS = {"autograd": "autograd", "range": "ranges", "job": "jobs", "thread": "threads", "overflow": "folded"}


def own(parents: Sequence[int], inclusive: Sequence[int]) -> list[int]:
    """Return per context the value that is not in its callees; at least 0."""
    left = list(inclusive)
    for context, parent in enumerate(parents):
        if parent >= 0:
            left[parent] -= inclusive[context]
    return [max(number, 0) for number in left]


def package_of(kind: str, package: str, name: str, source: str) -> str:
    """Return the package; for operators the namespace, for other kinds the kind."""
    if kind == "op":
        return name.split("::", 1)[0] if "::" in name else "operators"
    if kind in ("python", "c"):
        return package or source
    return _GROUPS.get(kind, kind)


def nodes(found: Columns) -> Columns:
    kept: Columns = {name: found[name] for name in ("kind", "file", "class", "name", "line", "key")}
    kept["name"] = [
        short_kernel_name(key) if kind == "kernel" else name
        for kind, name, key in zip(*(found[name] for name in ("kind", "name", "key")), strict=True)
    ]
    kept["plumbing"] = plumbing(found)
    kept["package"] = [
        package_of(*row) for row in zip(*(found[name] for name in ("kind", "package", "name", "from")), strict=True)
    ]
    return kept


def _origins(trace: Trace) -> Columns:
    """Return what each kernel of Inductor computes, as text; no column without such a kernel."""
    origins = kernel_origins(trace)
    rows = range(len(trace.nodes["kind"]))
    return {"origin": [origin_text(origins.get(node, {})) for node in rows]} if origins else {}


def identities(found: Columns) -> list[tuple[str, ...]]:
    """Return the identity of functions across recordings: without lines."""
    return list(zip(*(found[name] for name in ("kind", "file", "class", "name")), strict=True))


def modules(found: Columns) -> Columns:
    kept = {name: found[name] for name in ("path", "class", "parent", "parameters", "parameter_bytes")}
    return kept | {"pattern": [module_pattern(path) for path in found["path"]]}


def places(found: Columns) -> Columns:
    """Return contexts without figures."""
    kept: Columns = {name: found[name] for name in ("parent", "node", "module")}
    kept["phase"] = [flags & PHASE_BITS for flags in found["flags"]]
    return kept


def figure(found: Columns, weight: PageWeight) -> list[int]:
    column = found[weight.column]
    return own(found["parent"], column) if weight.inclusive else column


def contexts(trace: Trace, more: MeasuredColumns | None = None) -> Columns:
    """Return contexts with their figures; ``more``: measured ones."""
    figures = {weight.id: figure(trace.contexts, weight) for weight in WEIGHTS}
    return places(trace.contexts) | figures | {weight.id: column for weight, column in more or ()}


def versions(trace: Trace) -> dict[str, str]:
    """Return the versions of the recorded program and its machine."""
    names = ("fastdispatch", "implementation", "python", "torch", "machine", "kernel")
    return {name: trace.meta[name] for name in names if isinstance(trace.meta.get(name), str)}


def about(found: Facts, path: str) -> dict[str, Any]:
    """Return the facts that views show."""
    kept = {name: value for name, value in asdict(found).items() if name not in ("backward", "special")}
    return kept | {"path": path, "phases": PHASES}


def weights(table: Columns, whole: int, more: MeasuredColumns) -> list[dict[str, Any]]:
    """Return non-empty weights, the default first: GPU time if there is any. ``whole`` is the value of 100 % of the
    time; of other weights it is their sum."""
    used: list[dict[str, Any]] = []
    for weight in (*WEIGHTS, *(each for each, _ in more)):
        everything = sum(table[weight.id])
        if everything:
            base = whole if weight.id == "time" and whole else everything
            used.append({"id": weight.id, "label": weight.label, "unit": weight.unit, "whole": base})
    return sorted(used, key=lambda shown: shown["id"] != "gpu")


#: Maximum number of ranks with figures per path; with more ranks the page has sums per function only.
MOST_FIGURES = 2_000_000


def paths_by_rank(trace: Trace, kept: Columns) -> dict[str, Columns] | None:
    """Return figures of contexts, one table per rank, for non-empty weights; None for one rank, and for too many."""
    used = [weight for weight in WEIGHTS if any(kept[weight.id])]
    if len(trace.ranks) < 2 or len(trace.ranks) * len(kept["node"]) * len(used) > MOST_FIGURES:
        return None
    tables = {}
    for index, rank in enumerate(trace.ranks):
        found = trace.core.contexts(index)
        figures = {weight.id: figure(found, weight) for weight in used}
        tables[f"rank{index}"] = figures | {each.id: column for each, column in measured(trace, rank["rank"])}
    return tables


def per_module(trace: Trace, rank: int) -> Columns:
    table = trace.core.table("module", rank)
    return {name: table[name] for name in ("where", "instances", "calls", "ops", "self", "total", "backward")}


def core(
    trace: Trace, path: str, kept: Columns, found: Facts, more: dict[str, Any], extra: MeasuredColumns | None = None
) -> tuple[dict[str, Any], dict[str, Columns]]:
    """Return values and tables of the main block of every page, with contexts ``kept``, facts ``found``, further values
    ``more`` (findings, notes, capped), and measured weights ``extra``."""
    ranks = range(len(trace.ranks) if len(trace.ranks) > 1 else 0)
    values = {
        "about": about(found, path) | {"versions": versions(trace)} | more,
        "weights": weights(kept, found.whole, extra or []),
    }
    return values, {
        "nodes": nodes(trace.nodes) | _origins(trace),
        "modules": modules(trace.modules),
        "contexts": kept,
        "per_module": per_module(trace, -1),
        **{f"modules{rank}": per_module(trace, rank) for rank in ranks},
    }
