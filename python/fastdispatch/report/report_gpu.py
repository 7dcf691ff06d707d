"""Facts about the kernels of GPUs: how busy the GPUs were, and why kernels are missing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fastdispatch.text.formats import grouped, seconds


@dataclass
class GpuFacts:
    """Kernels, copies and fills of the recorded steps of all ranks. Times in ns."""

    kernels: int
    time: int  # sum over kernels
    busy: int  # at least one of them ran, from the fourth recorded step on; summed over GPUs, like the next
    window: int  # of the same steps
    steps: int  # recorded steps, the largest number of a rank
    busy_steps: int  # those from the fourth on

    @property
    def share(self) -> float:
        """Return the part of the recorded steps in which the GPUs were busy. Kernels may end after their step."""
        return min(self.busy / self.window, 1.0) if self.window else 0.0


def gpu_facts(entries: Sequence[Mapping[str, Any]]) -> GpuFacts | None:
    """Return the facts of ranks; None if no kernel was recorded."""
    found = GpuFacts(0, 0, 0, 0, 0, 0)
    for entry in entries:
        known = entry["meta"].get("gpu_kernels")
        if isinstance(known, dict) and known.get("kernels"):
            devices = {device for device in entry["gpu"]["device"] if device >= 0}
            found.kernels += known["kernels"]
            found.time += known["ns"]
            found.busy += known["busy_ns"]
            found.window += known["window_ns"] * max(len(devices), 1)
            found.steps = max(found.steps, int(entry["meta"].get("gpu_steps", 0)))
            found.busy_steps = max(found.busy_steps, known["busy_steps"])
    return found if found.kernels else None


def gpu_line(facts: GpuFacts) -> str:
    busy = f"GPU busy {100 * facts.share:.0f} % of {_steps(facts.busy_steps)}; " if facts.busy_steps else "GPU: "
    kernels = f"{grouped(facts.kernels)} kernels, copies and fills"
    return f"{busy}{kernels} in {_steps(facts.steps)}, {seconds(facts.time)}"


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
