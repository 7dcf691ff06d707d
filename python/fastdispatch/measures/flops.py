"""FLOPs of a recording: of its operators, from their recorded shapes, and of the call sites that cause them
(docs/concepts/measures.md)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from fastdispatch._core import Error
from fastdispatch.measures.call_sites import CallSites
from fastdispatch.measures.flop_formulas import flops_of_call, kind_of
from fastdispatch.measures.shapes import Tensor, operands_of
from fastdispatch.read.columns import rows
from fastdispatch.read.steps import number_of_ranks, step_time
from fastdispatch.read.summary import mapping
from fastdispatch.read.trace import Trace
from fastdispatch.text.kernel_names import computes, precision_of_kernel


@dataclass
class OperatorFlops:
    """Calls of a call path. An operator inside another one that counts does not count again."""

    context: int
    kind: str  # flops; elementwise: operations of element-wise operators; unknown: calls without a figure
    calls: int = 0
    flops: int = 0
    bytes: int = 0  # of the operands
    beyond: int = 0  # unknown calls with more shapes than a call path lists
    failed: str = ""  # exception of the formula of a custom operator
    dtypes: Counter[str] = field(default_factory=Counter)  # FLOPs by element type of the operands


@dataclass
class _Path:
    """The calls of an operator at a call path, with figures and without."""

    known: OperatorFlops
    unknown: OperatorFlops


class OperatorCalls:
    """The operators of a trace from whose shapes FLOPs are derived."""

    def __init__(self, trace: Trace) -> None:
        nodes, contexts = trace.nodes, trace.contexts
        self._keys = [nodes["key"][node] for node in contexts["node"]]
        self._above: list[int] = []  # nearest operator that calls this path, or -1
        operators = [nodes["kind"][node] == "op" for node in contexts["node"]]
        for parent in contexts["parent"]:  # a parent comes before its children
            self._above.append(parent if parent < 0 or operators[parent] else self._above[parent])

    def of(self, entry: Mapping[str, Any]) -> Iterator[OperatorFlops]:
        """Yield the calls of a rank."""
        paths = self._paths(entry)
        inside: dict[int, set[str]] = {}  # element types of the operators inside a path that counts
        inner = {above for context, path in paths.items() if path.known.calls for above in self._around(context, paths)}
        for context, path in paths.items():
            if path.unknown.calls and context in inner:
                # The operators inside count for all calls: which of them belong to calls without a figure is unknown.
                path.unknown.calls += path.known.calls
                path.unknown.bytes += path.known.bytes
                path.known.calls = 0
        for context, path in paths.items():
            around = [above for above in self._around(context, paths) if paths[above].known.calls]
            if around and path.known.calls:
                inside.setdefault(around[-1], set()).update(path.known.dtypes)
        for context, path in paths.items():
            if len(inside.get(context, ())) == 1:  # as after the casts of autocast
                path.known.dtypes = Counter({next(iter(inside[context])): path.known.flops})
            if not any(paths[above].known.calls for above in self._around(context, paths)):
                yield from (each for each in (path.known, path.unknown) if each.calls)

    def _around(self, context: int, paths: Mapping[int, _Path]) -> Iterator[int]:
        """Yield the operators with recorded shapes that call this path."""
        while (context := self._above[context]) >= 0:
            if context in paths:
                yield context

    def _paths(self, entry: Mapping[str, Any]) -> dict[int, _Path]:
        custom = mapping(entry["meta"].get("flop_formulas"))
        found: dict[int, _Path] = {}
        for kind, context, detail, count, size in rows(entry["measures"], "kind context detail count other"):
            operator = self._keys[context]
            counts_as = kind_of(operator) if kind == "shapes" else ""
            if not counts_as:
                continue
            flops, failed = _figure(operator, detail, mapping(custom.get(operator)))
            path = found.get(context)
            if path is None:
                known = OperatorFlops(context, "flops" if counts_as == "unknown" else counts_as)
                path = found[context] = _Path(known, OperatorFlops(context, "unknown"))
            calls = path.unknown if flops is None else path.known
            calls.calls += count
            calls.flops += count * (flops or 0)
            if flops and counts_as != "elementwise":
                calls.dtypes[element_type(detail)] += count * flops
            calls.bytes += size
            calls.beyond += 0 if detail else count
            calls.failed = calls.failed or failed
        return found


def _figure(operator: str, detail: str, custom: Mapping[str, Any]) -> tuple[int | None, str]:
    """Return the FLOPs of a call with these operands, or None, and why a formula of the program failed."""
    if kind_of(operator) != "unknown":
        return flops_of_call(operator, detail) if detail else None, ""
    flops = mapping(custom.get("flops")).get(detail)
    return flops if isinstance(flops, int) else None, str(custom.get("failed", ""))


_OF_TYPES = {"bfloat16": "bf16", "float16": "fp16"}


def element_type(text: str) -> str:
    """Return the element type of the first tensor of recorded operands; empty without one."""
    values = operands_of(text).values
    tensors = (each for value in values for each in (value if isinstance(value, list) else [value]))
    return next((each.dtype for each in tensors if isinstance(each, Tensor)), "")


class Precisions:
    """Precisions of the operators of a trace. An operator on float32 may use TF32: the names of its kernels decide."""

    def __init__(self, trace: Trace) -> None:
        nodes, contexts = trace.nodes, trace.contexts
        kinds, names = nodes["kind"], nodes["name"]
        self._found: dict[int, set[str]] = {}
        for row, node in enumerate(contexts["node"]):
            precision = precision_of_kernel(names[node]) if kinds[node] == "kernel" else ""
            above = contexts["parent"][row] if precision else -1
            while above >= 0 and kinds[contexts["node"][above]] != "op":
                above = contexts["parent"][above]  # a function that implements the operator
            while above >= 0 and kinds[contexts["node"][above]] == "op":
                self._found.setdefault(above, set()).add(precision)
                above = contexts["parent"][above]

    def of(self, context: int, dtype: str) -> str:
        """Return ``fp32``, ``tf32``, ``bf16``, ``fp16`` or ``fp8``; another element type as it is, and ``float32`` if
        its precision is not decided."""
        if dtype.startswith("float8_e"):
            return "fp8"
        found = self._found.get(context, set())
        return next(iter(found)) if dtype == "float32" and len(found) == 1 else _OF_TYPES.get(dtype, dtype)


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
