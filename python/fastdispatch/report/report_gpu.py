"""Facts about the kernels of GPUs: busy time by use, idle time by cause, and reasons for missing kernels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fastdispatch.read.plumbing import plumbing
from fastdispatch.read.steps import PHASE_BITS, PHASES
from fastdispatch.read.trace import Columns, Trace
from fastdispatch.text.formats import grouped, seconds

#: Uses and causes of a device in the recording, with their words. The host is late until the end of a step, too.
_BUSY = {"compute_ns": "compute", "communication_ns": "communication", "copy_ns": "copies"}
_IDLE = {
    "host_ns": "host",
    "end_ns": "end",
    "launch_ns": "launch",
    "wait_ns": "wait",
    "undecided_ns": "undecided",
}
_CAUSES = {"launch": "launch latency", "wait": "waits for another stream or device", "undecided": "not decided"}

#: The GPU is bound by itself from this share on; places are shown from this share of the time on.
_BOUND, _SHOWN, _PLACES = 0.9, 0.01, 4

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


def gpu_facts(trace: Trace, rank: int | None, entries: Sequence[Mapping[str, Any]]) -> GpuFacts | None:
    """Return the facts of ranks; None if no kernel was recorded."""
    found = GpuFacts()
    for entry in entries:
        known = entry["meta"].get("gpu_kernels")
        if isinstance(known, dict) and known.get("kernels"):
            found.kernels += known["kernels"]
            found.time += known["ns"]
            found.steps = max(found.steps, int(entry["meta"].get("gpu_steps", 0)))
            found.busy_steps = max(found.busy_steps, known["busy_steps"])
            for device in known.get("devices", []):
                found.window += device["window_ns"]
                for key, name in (_BUSY | _IDLE).items():
                    setattr(found, name, getattr(found, name) + device[key])
    if found.host or found.end:
        found.places = idle_places(trace, rank)
    return found if found.kernels else None


def idle_places(trace: Trace, rank: int | None) -> list[IdlePlace]:
    """Return the idle time that the host caused, by the innermost function of the program, or the function of a
    library that it calls."""
    contexts = trace.contexts if rank is None else trace.core.contexts(trace.index(rank))
    owners = _owners(trace, contexts)
    own = list(contexts["gpu_starved"])
    for time, parent in zip(contexts["gpu_starved"], contexts["parent"], strict=True):
        if parent >= 0:
            own[parent] -= time
    times: Counter[tuple[str, str]] = Counter()
    for time, owner in zip(own, owners, strict=True):
        times[owner] += time
    return [IdlePlace(where, name, time) for (where, name), time in times.most_common() if time]


def _owners(trace: Trace, contexts: Columns) -> list[tuple[str, str]]:
    """Return the function that each call path belongs to, with a short name."""
    nodes = trace.nodes
    passing = plumbing(nodes)
    owners: list[tuple[str, str]] = []
    of_program: list[bool] = []  # whether the owner is the program's, so that a library's function may replace it
    for node, parent, flags in zip(*(contexts[name] for name in ("node", "parent", "flags")), strict=True):
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


def gpu_sentence(facts: GpuFacts) -> str:
    """Return what bounds the step, in one sentence; empty if it is not known."""
    if not facts.window or not facts.busy_steps:
        return ""
    busy, idle = facts.share(facts.busy), facts.share(facts.window - facts.busy)
    late = facts.host + facts.end
    if busy >= _BOUND:
        return f"GPU busy {_percent(busy)} of the step: bound by the GPU"
    if 2 * late < facts.window - facts.busy:
        cause = max(_CAUSES, key=lambda name: getattr(facts, name))
        return f"GPU idle {_percent(idle)} of the step, mostly: {_CAUSES[cause]}"
    place = f", in {facts.places[0].name}" if facts.places else ""
    return f"GPU idle {_percent(idle)} of the step: the host is late{place}"


def gpu_lines(facts: GpuFacts) -> Iterator[str]:
    if facts.window and facts.busy_steps:
        uses = [
            f"{name} {100 * facts.share(getattr(facts, name)):.0f}" for name in _BUSY.values() if getattr(facts, name)
        ]
        causes = [(facts.share(place.time), f"in {place.name}") for place in facts.places[:_PLACES]]
        rest = sum(place.time for place in facts.places[_PLACES:])
        causes += [(facts.share(rest), "in other functions")]
        causes += [(facts.share(getattr(facts, name)), words) for name, words in _CAUSES.items()]
        shown = ", ".join(f"{_percent(share)} {words}" for share, words in causes if share >= _SHOWN)
        busy = f"{_percent(facts.share(facts.busy))} busy" + (f" ({', '.join(uses)})" if uses else "")
        idle = f"idle {_percent(facts.share(facts.window - facts.busy))}"
        yield f"GPU in {_steps(facts.busy_steps)}: {busy}, {idle}{shown and f': {shown}'}"
    kernels = f"{grouped(facts.kernels)} kernels, copies and fills"
    yield f"GPU: {kernels} in {_steps(facts.steps)}, {seconds(facts.time)}"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _steps(count: int) -> str:
    return f"{grouped(count)} recorded step{'s' * (count != 1)}"


def why_incomplete(entries: Sequence[Mapping[str, Any]]) -> str:
    """Return why GPU times or kernels are missing, a sentence for each reason; empty if nothing is."""
    reasons = {sentence for entry in entries for sentence in _reasons(entry["meta"])}
    return "; ".join(sorted(reasons))


def _reasons(meta: Mapping[str, Any]) -> Iterator[str]:
    if "gpu_missing" in meta:
        yield meta["gpu_missing"]
    known = meta.get("gpu_kernels")
    if isinstance(known, dict) and "problem" in known:
        instead = "kernels of some steps are missing" if known.get("kernels") else "GPU times are those of modules"
        yield f"{known['problem']}: {instead}"
