"""``low-intensity``: a function spends its time on operators that compute little with the bytes they read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from fastdispatch.detectors import limits
from fastdispatch.detectors.gpu_clock import GpuClock
from fastdispatch.detectors.measured_steps import MeasuredSteps, number
from fastdispatch.detectors.model import Finding, NotDecided
from fastdispatch.measures.call_sites import CallSites
from fastdispatch.measures.flops import has_flops, measured_steps
from fastdispatch.measures.operator_flops import OperatorCalls
from fastdispatch.text.formats import in_flop, percent, seconds, size

ID = "low-intensity"

ADVICE = (
    "compute the chain in one operator: torch.compile fuses it, nn.functional has activations, norms and losses as one"
    " operator"
)


@dataclass
class _Figures:
    """Operators of one path or function; FLOPs and bytes per measured step, times in ns per step."""

    flops: float = 0.0
    bytes: float = 0.0
    time: float = 0.0
    forward: float = 0.0  # calls of the forward pass per step
    paths: list[int] = field(default_factory=list)

    @property
    def rate(self) -> float:
        return self.flops / self.time * 1e9 if self.time else 0.0

    @property
    def intensity(self) -> float:
        return self.flops / self.bytes if self.bytes else float("inf")

    def add(self, other: _Figures) -> None:
        for name in ("flops", "bytes", "time", "forward", "paths"):
            setattr(self, name, getattr(self, name) + getattr(other, name))


def find(steps: MeasuredSteps) -> Iterator[Finding | NotDecided]:
    if not has_flops(steps.ranks):
        yield NotDecided(ID, "no FLOPs were measured: record with measure='flops'")
        return
    on_gpu = any(steps.paths["gpu_calls"]) or any(rank["meta"].get("gpu_name") for rank in steps.ranks)
    if on_gpu and steps.gpu is None:
        yield NotDecided(ID, "kernels of the GPU were not recorded: the times of the host are not those of operators")
        return
    sites = CallSites(steps.trace)
    operators = _operators(steps, sites)
    intense = [each for each in operators if each.intensity >= limits.HIGH_INTENSITY]
    best = max(intense, key=lambda each: each.rate, default=None)
    if best is None:
        yield NotDecided(ID, f"no operator has {limits.HIGH_INTENSITY:.0f} FLOP/B: there is no rate to compare with")
        return
    slow = [
        each
        for each in operators
        if each.intensity <= limits.LOW_INTENSITY and each.rate <= limits.LOW_RATE * best.rate
    ]
    for user, chain in _chains(steps, sites, slow).items():
        if chain.time >= limits.INTENSITY_SHARE * steps.step and _length(steps, user, chain) >= limits.CHAIN:
            yield _finding(steps, user, chain, best)
            steps.claim(chain.paths)


def _length(steps: MeasuredSteps, user: int, chain: _Figures) -> float:
    """Return the operators of the forward pass per call of the function."""
    return chain.forward / max(steps.calls(user), 1.0)


def _operators(steps: MeasuredSteps, sites: CallSites) -> list[_Figures]:
    """Return the measured paths of main threads and backward, without the optimizer and claimed time."""
    measured = max(measured_steps(steps.ranks), 1)
    found: dict[int, _Figures] = {}
    operators = OperatorCalls(steps.trace)
    for each in (each for rank in steps.ranks for each in operators.of(rank)):
        if each.kind != "unknown" and sites.passes[each.context] != "optimizer":
            figures = found.setdefault(each.context, _Figures(paths=[each.context]))
            figures.flops += each.flops / measured
            figures.bytes += each.bytes / measured
    for path, figures in found.items():
        figures.time = steps.unclaimed([path]) if steps.gpu is None else _of_kernels(steps, steps.gpu, path)
        figures.forward = steps.calls(path) if sites.passes[path] == "forward" else 0.0
    return [figures for figures in found.values() if figures.time]


def _of_kernels(steps: MeasuredSteps, gpu: GpuClock, path: int) -> float:
    """Return the time of the kernels of an operator, ns per step."""
    return float(sum(gpu.own[row] for row in (path, *steps.below(path)) if row not in steps.claimed))


def _chains(steps: MeasuredSteps, sites: CallSites, operators: list[_Figures]) -> dict[int, _Figures]:
    """Return the operators by the function of the program that calls them, or whose forward pass causes them."""
    found: dict[int, _Figures] = {}
    for each in operators:
        user = steps.user(sites.site(each.paths[0]))
        if user >= 0:
            found.setdefault(user, _Figures()).add(each)
    return found


def _finding(steps: MeasuredSteps, user: int, chain: _Figures, best: _Figures) -> Finding:
    length = _length(steps, user, chain)
    return steps.finding(
        ID,
        f"{steps.name(user)} calls {number(length)} operators of low intensity: {chain.intensity:.2g} FLOP/B",
        steps.where(user),
        chain.time * (1 - 1 / length),
        f"{seconds(chain.time)} {'of kernels ' if steps.gpu else ''}or {percent(chain.time / steps.step)} of a step"
        f" with their backward, at {in_flop(chain.rate, 'FLOP/s')} and"
        f" {size(round(chain.bytes / chain.time * 1e9))} of inputs per second;"
        f" {steps.key(best.paths[0])} reaches {in_flop(best.rate, 'FLOP/s')} at"
        f" {best.intensity:.3g} FLOP/B",
        ADVICE,
        evidence={
            "flops_per_step": round(chain.flops),
            "bytes_per_step": round(chain.bytes),
            "ns_per_step": round(chain.time),
            "operators_per_call": round(length, 2),
        },
    )
