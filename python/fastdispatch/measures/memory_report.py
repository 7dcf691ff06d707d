"""Memory of a recording by call path, the parts of its peak, and the model of ``report --memory``
(docs/guides/memory.md, ``docs/reference/schemas/memory.schema.json``)."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Annotated, Any, Literal

from fastdispatch._core import Error
from fastdispatch.measures.call_sites import CallSites
from fastdispatch.read.columns import rows
from fastdispatch.read.plumbing import is_library
from fastdispatch.read.source_calls import Sources, called
from fastdispatch.read.steps import number_of_ranks
from fastdispatch.read.summary import mapping
from fastdispatch.read.trace import Trace
from fastdispatch.text.formats import AT_LEAST_0, Count, module_pattern

#: Part of blocks of a GPU that are not followed: from before the recording, or without room.
UNRECORDED = "not recorded"

#: What a peak consists of, in the order of reports.
PARTS = ("parameters", "gradients", "optimizer state", "activations", "input", "temporary", "other", UNRECORDED)

#: Kinds of measures with figures of memory.
KINDS = ("allocated", "freed", "peak_freed", "peak", "kept", "refused", "held")

#: Phases of contexts (docs/formats/recording.md).
_PHASE = 7
_OTHER, _FORWARD, _BACKWARD, _OPTIMIZER, _DATA = range(5)

#: Files of PyTorch whose functions make parameters, or load batches.
_MODULES, _LOADER = "torch/nn/", "torch/utils/data/"

#: Sums from here on are negative: a thread counted a free before another one its allocation.
_SIGN = 1 << 63

#: Step ends and standard errors from which a slope is growth.
_STEPS, _SIGMAS = 8, 4


@dataclass
class PathMemory:
    """Blocks that one call path allocated. ``parts`` adds up to the bytes at the peak; ``held`` has the bytes live at
    the latest failed allocation, by part; ``growth`` is the slope of the live bytes per step, ``error`` its standard
    error."""

    context: int
    allocated: int = 0
    blocks: int = 0
    freed: int = 0
    frees: int = 0
    peak: int = 0
    parts: dict[str, int] = field(default_factory=dict)
    held: dict[str, int] = field(default_factory=dict)
    growth: int = 0
    error: int = 0
    steps: int = 0  # ends of steps with live bytes

    @property
    def live(self) -> int:
        return self.allocated - self.freed

    @property
    def grows(self) -> bool:
        """Whether the slope is significant, and the blocks are still there."""
        return self.steps >= _STEPS and self.growth > _SIGMAS * self.error and self.live >= self.growth * _STEPS


@dataclass
class Refusal:
    """The latest failed allocation of a device, of ``count``: the context of the request, and bytes. ``parts`` are
    the bytes live then; empty if they are unknown."""

    context: int
    count: int
    requested: int
    allocated: int
    reserved: int
    step: int = -1
    parts: dict[str, int] = field(default_factory=dict)


@dataclass
class DeviceMemory:
    """Memory of one device on one rank; ``reached`` is the context that reached the peak, ``step`` the number of its
    step (-1: unknown), ``reserved`` the bytes that the allocator of a GPU had reserved then."""

    device: str
    rank: int
    peak: int = 0
    reached: int = -1
    step: int = -1
    reserved: int = 0
    refusal: Refusal | None = None
    paths: dict[int, PathMemory] = field(default_factory=dict)

    def part(self, name: str) -> int:
        if name == UNRECORDED:
            return max(self.peak - sum(path.peak for path in self.paths.values()), 0)
        return sum(path.parts.get(name, 0) for path in self.paths.values())


@dataclass
class Unfollowed:
    """Blocks without room for a record, and frees of blocks that are not known, as those from before the recording."""

    blocks: Count = 0
    bytes: Count = 0
    frees: Count = 0


def has_memory(rank: dict[str, Any]) -> bool:
    """Return whether a rank measured memory."""
    return any(kind in KINDS for kind in rank["measures"]["kind"])


def memory_of(trace: Trace, rank: dict[str, Any], sites: CallSites) -> tuple[list[DeviceMemory], Unfollowed]:
    """Return the memory of each device of a rank, and what is missing in it. A sum of ranks has the memory of the rank
    with the highest peak. Raises Error without figures."""
    if not has_memory(rank):
        raise Error(
            f"--memory: {trace.name} has no figures of memory: record with --measure memory (docs/guides/memory.md)"
        )
    devices: dict[str, DeviceMemory] = {}
    missing = Unfollowed()
    fates: list[tuple[DeviceMemory, int, int, int]] = []
    holders: list[tuple[DeviceMemory, int, int]] = []
    steps: dict[str, int] = {}
    names = "kind context flags detail count sum max other"
    for kind, context, flags, detail, count, total, most, other in rows(rank["measures"], names):
        if kind == "unfollowed":
            missing = Unfollowed(missing.blocks + count, missing.bytes + total, missing.frees + other)
        if kind not in KINDS:
            continue
        device = devices.setdefault(detail, DeviceMemory(detail, rank["rank"]))
        if kind == "peak":
            device.peak, device.reached, device.step, device.reserved = most, context, count - 1, total
            device.rank = other if trace.reduced is not None else device.rank
            continue
        if kind == "refused":
            device.refusal = Refusal(context, count, total, most, other)
            continue
        path = device.paths.setdefault(context, PathMemory(context))
        if kind == "allocated":
            path.allocated, path.blocks, path.peak = path.allocated + total, path.blocks + count, path.peak + other
        elif kind == "freed":
            path.freed, path.frees, path.peak = path.freed + total, path.frees + count, path.peak - other
        elif kind == "kept":
            path.growth, path.error, path.steps = total, other, most
        elif kind == "held":
            steps[detail] = most - 1
            if total < _SIGN:
                holders.append((device, context, total))
        else:
            fates.append((device, context, flags, total))
    parts = _Parts(trace, sites)
    for device, context, phase, total in fates:
        parts.add(device.paths[context], phase, total)
    for device in devices.values():
        for path in device.paths.values():
            parts.add(path, None, path.peak - sum(path.parts.values()))
        if device.refusal is not None:
            device.refusal.step = steps.get(device.device, -1)
            parts.hold(device.refusal, [(of.paths[row], total) for of, row, total in holders if of is device])
    if not any(path.steps for device in devices.values() for path in device.paths.values()):
        for each in (*devices.values(), *(device.refusal for device in devices.values())):
            if each is not None:
                each.step = -1  # none has ended, so the program may have no steps
    return [devices[name] for name in sorted(devices)], missing


class _Parts:
    """The part of a block, by the path that allocated it and the phase that freed it."""

    def __init__(self, trace: Trace, sites: CallSites) -> None:
        nodes, contexts = trace.nodes, trace.contexts
        self._sites = sites
        self._flags: list[int] = contexts["flags"]
        models = set(trace.modules["class"])
        files = nodes["file"]
        builds = [
            file.startswith(_MODULES) or (name == "__init__" and of in models)
            for file, name, of in zip(files, nodes["name"], nodes["class"], strict=True)
        ]
        self._builds = self._below(contexts, builds)
        self._loads = self._below(contexts, [file.startswith(_LOADER) for file in files])

    @staticmethod
    def _below(contexts: dict[str, Any], wanted: list[bool]) -> list[bool]:
        """Return for each path whether one of its functions is selected; a parent comes before its children."""
        made: list[bool] = []
        for node, parent in zip(contexts["node"], contexts["parent"], strict=True):
            made.append(wanted[node] or (parent >= 0 and made[parent]))
        return made

    def add(self, path: PathMemory, freed_in: int | None, total: int) -> None:
        if total:
            name = self._part(path.context, freed_in)
            path.parts[name] = path.parts.get(name, 0) + total

    def hold(self, refusal: Refusal, holders: list[tuple[PathMemory, int]]) -> None:
        """Add what paths held at a failed allocation. Which phase frees a block is not known: it is in the part of
        most bytes of its path at the peak, else in that of blocks that stay. The sums are void if they exceed the bytes
        allocated: the process ended while they were stored."""
        held = sum(total for _, total in holders)
        if not holders or held > refusal.allocated:
            return
        for path, total in holders:
            name = max(path.parts, key=lambda part: path.parts[part], default="") or self._part(path.context, None)
            path.held[name] = total
            refusal.parts[name] = refusal.parts.get(name, 0) + total
        if refusal.allocated > held:
            refusal.parts[UNRECORDED] = refusal.allocated - held

    def _part(self, context: int, freed_in: int | None) -> str:
        phase = self._flags[context] & _PHASE
        if phase == _DATA or self._loads[context]:
            return "input"
        if phase == _OPTIMIZER:
            return "temporary" if freed_in == _OPTIMIZER else "optimizer state"
        if phase == _BACKWARD and self._sites.passes[context] != "recomputed":
            return "temporary" if freed_in == _BACKWARD else "gradients"
        if phase == _FORWARD:
            return "temporary" if freed_in == _FORWARD else "activations"
        if freed_in == _BACKWARD or phase == _BACKWARD:
            return "activations"  # of a loss function, or recomputed
        return "parameters" if self._builds[context] else "other"


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
