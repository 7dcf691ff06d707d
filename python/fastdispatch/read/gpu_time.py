"""The time of GPUs in a recording: busy time by use, idle time by cause and by function of the host."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fastdispatch.read.columns import rows
from fastdispatch.read.plumbing import plumbing
from fastdispatch.read.steps import PHASE_BITS, PHASES
from fastdispatch.read.trace import Columns, Trace

#: Uses and causes of a device in the recording, with their words. The host is late until the end of a step, too.
BUSY = {"compute_ns": "compute", "communication_ns": "communication", "copy_ns": "copies"}
_IDLE = {f"{cause}_ns": cause for cause in ("host", "end", "launch", "wait", "undecided")}

#: Functions of libraries that are not named as the place of idle time: internal ones, and those of modules.
_NOT_NAMED = ("_", "wrapper")
_OF_MODULES = "torch/nn/modules/"


@dataclass
class IdlePlace:
    """A function of the program, or one of a library that it calls, in which GPUs were idle."""

    where: str
    name: str  # short
    time: int


@dataclass
class GpuFacts:
    """Kernels, copies and fills of the recorded steps of all ranks. Times in ns."""

    kernels: int = 0
    time: int = 0  # sum over kernels
    steps: int = 0  # recorded steps, the largest number of a rank
    busy_steps: int = 0  # those from the fourth on, of all following times, which are summed over GPUs
    window: int = 0  # busy and idle
    compute: int = 0  # at least one kernel ran, and so on; communication: no other kernel ran
    communication: int = 0
    hidden: int = 0  # a part of compute: kernels that communicate ran, too
    copies: int = 0
    host: int = 0  # idle: the host was late
    end: int = 0  # after the last kernel of the step, also of the host
    launch: int = 0
    wait: int = 0
    undecided: int = 0
    places: list[IdlePlace] = field(default_factory=list)  # host and end by function, longest first

    @property
    def busy(self) -> int:
        return self.compute + self.communication + self.copies

    def share(self, time: int) -> float:
        return time / self.window if self.window else 0.0


def gpu_steps(entries: Sequence[Mapping[str, Any]]) -> tuple[int, int]:
    """Return the steps with GPU times, and those of them with busy and idle times, summed over ranks."""
    known = [entry["meta"].get("gpu_kernels") for entry in entries]
    busy = sum(int(each.get("busy_steps", 0)) for each in known if isinstance(each, dict))
    return sum(int(entry["meta"].get("gpu_steps", 0)) for entry in entries), busy


def gpu_facts(trace: Trace, rank: int | None, entries: Sequence[Mapping[str, Any]]) -> GpuFacts | None:
    """Return the facts of ranks; None if no kernel was recorded."""
    found = GpuFacts()
    for entry in entries:
        known = entry["meta"].get("gpu_kernels")
        if isinstance(known, dict) and known.get("kernels"):
            found.kernels += known["kernels"]
            found.time += known["ns"]
            ranks = known.get("ranks", 1)  # of a sum
            found.steps = max(found.steps, int(entry["meta"].get("gpu_steps", 0)) // ranks)
            found.busy_steps = max(found.busy_steps, known["busy_steps"] // ranks)
            for device in known.get("devices", []):
                found.window += device["window_ns"]
                for key, name in (BUSY | _IDLE | {"hidden_ns": "hidden"}).items():
                    setattr(found, name, getattr(found, name) + device.get(key, 0))
    if found.host or found.end:
        found.places = idle_places(trace, rank)
    return found if found.kernels else None


def idle_places(trace: Trace, rank: int | None) -> list[IdlePlace]:
    """Return the idle time that the host caused, by the innermost function of the program, or the function of a
    library that it calls."""
    contexts = trace.contexts if rank is None else trace.core.contexts(trace.index(rank))
    owners = _owners(trace, contexts)
    own = own_idle(contexts)
    times: Counter[tuple[str, str]] = Counter()
    for time, owner in zip(own, owners, strict=True):
        times[owner] += time
    return [IdlePlace(where, name, time) for (where, name), time in times.most_common() if time]


def own_idle(contexts: Columns) -> list[int]:
    """Return the idle time of each call path without that of the paths below."""
    own = list(contexts["gpu_starved"])
    for time, parent in rows(contexts, "gpu_starved parent"):
        if parent >= 0:
            own[parent] -= time
    return own


def _owners(trace: Trace, contexts: Columns) -> list[tuple[str, str]]:
    """Return the function that each call path belongs to, with a short name."""
    nodes = trace.nodes
    passing = plumbing(nodes)
    owners: list[tuple[str, str]] = []
    of_program: list[bool] = []  # whether the owner is the program's, so that a library's function may replace it
    for node, parent, flags in rows(contexts, "node parent flags"):
        key, name = nodes["key"][node], nodes["name"][node]
        owner, program = (owners[parent], of_program[parent]) if parent >= 0 else ((key, key), False)
        named = nodes["kind"][node] == "python" and not passing[node] and (name[0] != "<" or name == "<module>")
        if named and nodes["from"][node] == "project":
            owner, program = (key, key), True
        elif named and program and not name.startswith(_NOT_NAMED) and not key.startswith(_OF_MODULES):
            owner, program = (key, name), False
        elif parent >= 0 and contexts["parent"][parent] < 0 and PHASES[flags & PHASE_BITS] == "backward":
            owner = ("backward", "backward")
        owners.append(owner)
        of_program.append(program)
    return owners
