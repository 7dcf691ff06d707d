"""The model of ``report --memory`` (``docs/reference/schemas/memory.schema.json``): the peak by part and call path."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

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
from fastdispatch.text.formats import module_pattern

SCHEMA = "fastdispatch-memory/1"


@dataclass
class MemoryRow:
    """Blocks of one place of the program: the function that caused them, the line of its only call that can have caused
    them (0: unknown, or several calls), the module and the operator. Bytes, except ``blocks`` and ``frees``.
    ``growth`` is per step, 0 without significant growth."""

    where: str
    file: str
    line: int
    module: str
    operator: str
    parts: dict[str, int]
    held: dict[str, int]  # the same at the latest failed allocation
    peak: int
    allocated: int
    blocks: int
    freed: int
    frees: int
    live: int
    growth: int
    error: int


@dataclass
class Moment:
    """The place of the call that reached a peak, or of a failed allocation; ``step`` is the number of its step, None if
    it is not known, ``reserved`` what the allocator of a GPU had reserved, 0 for others."""

    where: str
    file: str
    line: int
    step: int | None
    reserved: int


@dataclass
class Failure(Moment):
    """The latest failed allocation, of ``failures``. ``parts`` add up to ``allocated``, the bytes live then; they are
    empty if they are not known."""

    failures: int
    requested: int
    allocated: int
    parts: dict[str, int]


@dataclass
class DeviceReport:
    """Memory of a device: the rows by their bytes at the peak, the largest first."""

    device: str
    total: int  # bytes of the device; 0: not known
    retries: int | None  # of its allocator; None: not known
    reserved: int | None  # maximum of the bytes that its allocator reserved, also before the recording; None: not known
    peak: int
    at_peak: Moment
    refused: Failure | None
    reached: str  # function or operator that reached it
    live: int  # at the end
    allocated: int
    growth: int  # per step, of the rows that grow
    steps: int  # ends of steps
    parts: dict[str, int]  # add up to the peak
    rows: list[MemoryRow]


@dataclass
class MemoryReport:
    """Memory of the rank with the highest peak, or of the selected one."""

    path: str
    rank: int
    ranks: int
    devices: list[DeviceReport]
    unfollowed: Unfollowed
    kept: bool  # the recorder kept arguments alive until the end of their call (calls="frame")

    def as_json(self) -> dict[str, Any]:
        """Return the document of ``docs/reference/schemas/memory.schema.json``."""
        return {"schema": SCHEMA, **asdict(self)}


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
    row.peak += path.peak
    row.allocated += path.allocated
    row.blocks += path.blocks
    row.freed += path.freed
    row.frees += path.frees
    row.live += path.live
    if path.grows:
        row.growth += path.growth
        row.error += path.error


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
            calls = list(self._sources.calls(node)) if names else []
            for name in names:
                lines = {call.func.end_lineno or call.lineno for call in calls if called(call) == name}
                if lines:
                    self._lines[key] = lines.pop() if len(lines) == 1 else 0
                    break
        return self._lines[key]
