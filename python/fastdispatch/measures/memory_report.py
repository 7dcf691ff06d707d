"""The model of ``report --memory`` (``docs/reference/schemas/memory.schema.json``): the peak by part and call path."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Annotated, Any, Literal

from fastdispatch._core import Error
from fastdispatch.measures.call_sites import CallSites
from fastdispatch.measures.memory_figures import (
    PARTS,
    DeviceMemory,
    PathMemory,
    Refusal,
    Unfollowed,
    has_memory,
    memory_of,
)
from fastdispatch.read.plumbing import is_library
from fastdispatch.read.source_calls import Sources, called
from fastdispatch.read.steps import number_of_ranks
from fastdispatch.read.summary import mapping
from fastdispatch.read.trace import Trace
from fastdispatch.text.formats import AT_LEAST_0, Count, module_pattern


@dataclass
class MemoryRow:
    """Blocks of one place of the program, in bytes except for numbers of blocks and frees."""

    where: Annotated[str, "function of the program that caused the blocks"]
    file: str
    line: Annotated[Count, "of the only call that can have caused them; 0: unknown, or several calls"]
    module: Annotated[str, "path of the module"]
    operator: Annotated[str, "outermost operator or autograd node"]
    parts: Annotated[dict[str, int], "bytes at the peak by part"]
    held: Annotated[dict[str, int], "bytes at the latest failed allocation, by part"]
    peak: Annotated[int, "bytes at the peak"]
    allocated: Count
    blocks: Annotated[Count, "number of allocations"]
    freed: Count
    frees: Annotated[Count, "number of frees"]
    live: Annotated[int, "bytes at the end"]
    growth: Annotated[Count, "bytes per step; 0 without significant growth"]
    error: Annotated[Count, "standard error of the growth"]


@dataclass
class Moment:
    """The place of the call that reached a peak, or of a failed allocation."""

    where: Annotated[str, "function of the program"]
    file: str
    line: Annotated[Count, "0: unknown, or several calls"]
    step: Annotated[int | None, AT_LEAST_0, "null: not known"]
    reserved: Annotated[Count, "bytes that the allocator of the GPU had reserved; 0: not reported"]


@dataclass
class Failure(Moment):
    """The latest failed allocation."""

    failures: Annotated[int, {"minimum": 1}]
    requested: Count
    allocated: Count
    parts: Annotated[dict[str, int], "bytes of live blocks, by part, which add up to allocated; empty: unknown"]


@dataclass
class DeviceReport:
    """Memory of a device: the rows by their bytes at the peak, the largest first."""

    device: Annotated[str, "cpu, cuda:0"]
    total: Annotated[Count, "bytes of the GPU; 0: not known"]
    retries: Annotated[
        int | None, AT_LEAST_0, "how often its allocator freed its cache to allocate again; null: not known"
    ]
    reserved: Annotated[
        int | None,
        AT_LEAST_0,
        "maximum of the bytes that the allocator reserved, also before the recording; null: not known",
    ]
    peak: Count
    at_peak: Moment
    refused: Annotated[Failure | None, "the latest failed allocation"]
    reached: Annotated[str, "function or operator that reached the peak"]
    live: Annotated[int, "bytes at the end"]
    allocated: Count
    growth: Annotated[Count, "bytes per step of the rows that grow"]
    steps: Annotated[Count, "ends of steps"]
    parts: Annotated[dict[str, int], {"required": [*PARTS], "maxProperties": len(PARTS)}, "they add up to the peak"]
    rows: list[MemoryRow]


@dataclass
class MemoryReport:
    """Memory of one rank by device, part of the peak and call path; bytes (docs/guides/memory.md)."""

    path: str
    rank: Annotated[Count, "with the highest peak, or selected"]
    ranks: Annotated[Count, "ranks of the recording"]
    devices: list[DeviceReport]
    unfollowed: Annotated[Unfollowed, "blocks without room, and frees of unknown blocks"]
    kept: Annotated[bool, "arguments were kept alive until the end of their call (calls='frame')"]
    schema: Literal["fastdispatch-memory/1"] = "fastdispatch-memory/1"

    def as_json(self) -> dict[str, Any]:
        """Return the document of ``docs/reference/schemas/memory.schema.json``."""
        return asdict(self)


def memory_report(trace: Trace, rank: int | None = None) -> MemoryReport:
    """Return the memory of a rank; None: of that with the highest peak, of those with a failed allocation if there are
    any. Raises Error without figures."""
    trace.index(rank)
    entries = [entry for entry in trace.ranks if rank in (None, entry["rank"])]
    sites = CallSites(trace)
    found = [memory_of(trace, entry, sites) for entry in entries if has_memory(entry)]
    if not found:
        memory_of(trace, entries[0], sites)  # raises the error
    devices, missing = max(found, key=lambda each: _rating(each[0]))
    if not devices:
        raise Error(f"--memory: {trace.name}: no blocks were allocated")
    places = Places(trace, sites)
    ranks = number_of_ranks(trace.ranks)
    kept = any(mapping(entry["meta"].get("options")).get("calls") == "frame" for entry in entries)
    of_rank = devices[0].rank
    meta: dict[str, Any] = next((entry["meta"] for entry in entries if entry["rank"] == of_rank), {})
    return MemoryReport(trace.name, of_rank, ranks, [_device(places, d, meta) for d in devices], missing, kept)


def _rating(devices: list[DeviceMemory]) -> tuple[bool, int]:
    failed = any(device.refusal is not None for device in devices)
    return failed, max((device.peak for device in devices), default=0)


def _known(meta: dict[str, Any], device: str) -> dict[str, Any]:
    """Return the facts of the allocator of a device (docs/formats/recording.md)."""
    devices = mapping(meta.get("gpu_allocator")).get("devices")
    for each in map(mapping, devices if isinstance(devices, list) else []):
        if device == f"cuda:{each.get('device')}":
            return each
    return {}


def _moment(places: Places, context: int, step: int, reserved: int) -> tuple[str, str, int, int | None, int]:
    """Return the fields of a Moment."""
    place = places.of(context) if context >= 0 else None
    where = (place.where, place.file, place.line) if place is not None else ("", "", 0)
    return *where, step if step >= 0 else None, reserved


def _failure(places: Places, refusal: Refusal | None) -> Failure | None:
    if refusal is None:
        return None
    at = _moment(places, refusal.context, refusal.step, refusal.reserved)
    return Failure(*at, refusal.count, refusal.requested, refusal.allocated, refusal.parts)


def _number(value: object) -> int | None:
    return value if isinstance(value, int) and value >= 0 else None


def _device(places: Places, device: DeviceMemory, meta: dict[str, Any]) -> DeviceReport:
    rows: dict[tuple[str, int, str, str], MemoryRow] = {}
    for path in device.paths.values():
        place = places.of(path.context)
        key = (place.where, place.line, place.module, place.operator)
        _add(rows.setdefault(key, place), path)
    made = sorted(rows.values(), key=lambda row: (-row.peak, -row.allocated, row.where, row.operator))
    known = _known(meta, device.device)
    return DeviceReport(
        device=device.device,
        total=_number(known.get("total")) or 0,
        retries=_number(known.get("retries")),
        reserved=_number(known.get("reserved")),
        peak=device.peak,
        at_peak=Moment(*_moment(places, device.reached, device.step, device.reserved)),
        refused=_failure(places, device.refusal),
        reached=places.name(device.reached),
        live=sum(row.live for row in made),
        allocated=sum(row.allocated for row in made),
        growth=sum(row.growth for row in made),
        steps=max((path.steps for path in device.paths.values()), default=0),
        parts={name: device.part(name) for name in PARTS},
        rows=made,
    )


def _add(row: MemoryRow, path: PathMemory) -> None:
    for to, of in ((row.parts, path.parts), (row.held, path.held)):
        for name, value in of.items():
            to[name] = to.get(name, 0) + value
    names = ("peak", "allocated", "blocks", "freed", "frees", "live", *(("growth", "error") if path.grows else ()))
    for name in names:
        setattr(row, name, getattr(row, name) + getattr(path, name))


class Places:
    """The place of the program that causes the blocks of a path: a backward path counts at its forward call."""

    def __init__(self, trace: Trace, sites: CallSites) -> None:
        self._trace = trace
        self._sites = sites
        self._sources = Sources(trace)
        self._users = [
            kind == "python" and not is_library(trace, node) for node, kind in enumerate(trace.nodes["kind"])
        ]
        self._lines: dict[tuple[int, tuple[str, ...]], int] = {}

    def name(self, context: int) -> str:
        return "" if context < 0 else str(self._trace.nodes["key"][self._trace.contexts["node"][context]])

    def of(self, context: int) -> MemoryRow:
        contexts, nodes = self._trace.contexts, self._trace.nodes
        site = self._sites.site(context)
        below, user = [-1, -1], site
        while user >= 0 and not self._users[contexts["node"][user]]:
            below, user = [user, below[0]], contexts["parent"][user]
        at = user if user >= 0 else site
        node = contexts["node"][at]
        line = self._line(node, self._calls(below[0]) + self._calls(below[1])) if user >= 0 else 0
        return MemoryRow(
            where=self.name(at),
            file=nodes["file"][node],
            line=line,
            module=self._module(site),
            operator=self._operator(context),
            parts={},
            held={},
            **dict.fromkeys(("peak", "allocated", "blocks", "freed", "frees", "live", "growth", "error"), 0),
        )

    def _operator(self, context: int) -> str:
        """Return the outermost operator or autograd node of a path, below its last function."""
        contexts, kinds = self._trace.contexts, self._trace.nodes["kind"]
        found = ""
        while context >= 0 and kinds[contexts["node"][context]] in ("op", "autograd"):
            found = self.name(context)
            context = contexts["parent"][context]
        return found

    def _module(self, context: int) -> str:
        modules, contexts = self._trace.modules, self._trace.contexts
        while context >= 0 and contexts["module"][context] < 0:
            context = contexts["parent"][context]
        if context < 0:
            return ""
        module = contexts["module"][context]
        return module_pattern(modules["path"][module]) or str(modules["class"][module])

    def _calls(self, below: int) -> tuple[str, ...]:
        """Return the names under which the source may call a path: of a function, a class, an operator, a module."""
        if below < 0:
            return ()
        contexts, nodes, modules = self._trace.contexts, self._trace.nodes, self._trace.modules
        node, module = contexts["node"][below], contexts["module"][below]
        name = str(nodes["name"][node]).rpartition("::")[2]
        names = [str(nodes["class"][node]) if name in ("__init__", "__new__") else name]
        if module >= 0:
            names += str(modules["path"][module]).split(".")[::-1]
        return tuple(filter(None, names))

    def _line(self, node: int, names: tuple[str, ...]) -> int:
        """Return the line of the only call of one of ``names`` in a function; 0: none, or several."""
        key = node, names
        if key not in self._lines:
            self._lines[key] = 0
            calls = self._sources.calls(node) if names else []
            for name in names:
                lines = {call.func.end_lineno or call.lineno for call in calls if called(call) == name}
                if lines:
                    self._lines[key] = lines.pop() if len(lines) == 1 else 0
                    break
        return self._lines[key]
