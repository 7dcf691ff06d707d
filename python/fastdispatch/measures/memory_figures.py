"""Memory of a recording by call path, and the parts of its peak (docs/guides/memory.md)."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from fastdispatch._core import Error
from fastdispatch.measures.call_sites import CallSites
from fastdispatch.read.columns import rows
from fastdispatch.read.trace import Trace
from fastdispatch.text.formats import Count

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
        _forget_steps(devices.values())
    return [devices[name] for name in sorted(devices)], missing


def _forget_steps(devices: Iterable[DeviceMemory]) -> None:
    """Make the steps unknown: none has ended, so the program may have no steps."""
    for device in devices:
        device.step = -1
        if device.refusal is not None:
            device.refusal.step = -1


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
