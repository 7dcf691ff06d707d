"""Operators with more bytes than they need: of wide types, or with little computation."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from fastdispatch.detectors import limits
from fastdispatch.detectors.measured_steps import MeasuredSteps, number
from fastdispatch.detectors.model import Finding
from fastdispatch.measures.call_sites import CallSites
from fastdispatch.measures.flops import OperatorCalls, has_flops, measured_steps
from fastdispatch.text.formats import grouped, in_flop, percent, seconds, size
from fastdispatch.text.kernel_names import precision_of_kernel, short_kernel_name

#: Bytes of an element of float64. Those of complex64 are as many, but programs with complex numbers call these.
_BYTES = 8
_COMPLEX = {f"aten::{name}" for name in ("complex", "view_as_complex", "view_as_real", "real", "imag", "_conj")}


def double_precision(steps: MeasuredSteps) -> Iterator[Finding]:
    """``double-precision``: a model computes in float64."""
    modules = steps.trace.modules
    sizes = list(zip(modules["parameters"], modules["parameter_bytes"], strict=True))
    double = {row for row, (elements, size) in enumerate(sizes) if elements and size == _BYTES * elements}
    if not double or _COMPLEX.intersection(steps.trace.nodes["name"]):
        return
    paths = [path for path in steps.outermost(lambda row: steps.paths["module"][row] in double) if steps.main[path]]
    time = sum(_time_of_operators(steps, path) for path in paths)
    if not paths or time < limits.DOUBLE_SHARE * steps.step:
        return
    path = max(paths, key=lambda row: _time_of_operators(steps, row))
    elements, size = sizes[steps.paths["module"][path]]
    name = modules["class"][steps.paths["module"][path]]
    yield steps.finding(
        f"{name} computes in float64: its {grouped(elements)} parameters have {_BYTES} bytes each",
        steps.where(path),
        time / 2,
        f"its operators take {steps.of_step(time)}, with backward; float32 has half"
        " of the bytes and at least twice the rate",
        "create model and input in float32: without double(), dtype=torch.float64, or"
        " torch.set_default_dtype(torch.float64); NumPy arrays are float64 unless converted",
        evidence={"parameters": elements, "parameter_bytes": size, "ns_per_step": round(time)},
    )


def _time_of_operators(steps: MeasuredSteps, path: int) -> float:
    """Return the time per step of the operators below a path, and of its backward."""
    below = sum(steps.own(row) for row in steps.below(path) if steps.kind(row) == "op")
    return below + steps.backward(path)


def single_precision(steps: MeasuredSteps) -> Iterator[Finding | str]:
    """``single-precision``: the GPU multiplies matrices in float32, without tensor cores."""
    gpu = steps.gpu
    if gpu is None:
        if steps.uses_gpu:
            yield "kernels of the GPU were not recorded"
        return
    times = {row: time for row, time in enumerate(gpu.own) if steps.kind(row) == "kernel" and time}
    products = {row: time for row, time in times.items() if precision_of_kernel(steps.name(row)) == "fp32"}
    time = sum(products.values())
    if time < limits.SINGLE_SHARE * gpu.step:
        return
    users: dict[int, float] = defaultdict(float)
    for row, each in products.items():
        users[steps.user(row)] += each
    longest = max(products, key=products.__getitem__)
    user = max(users, key=users.__getitem__)
    share = time / gpu.step
    yield steps.finding(
        f"the GPU multiplies matrices in float32 without tensor cores for {percent(share)} of a step",
        steps.where(user if user >= 0 else longest),
        share * steps.step / 2,
        f"{seconds(time)} of kernels per step, the longest {short_kernel_name(steps.name(longest))}; tensor cores have"
        " at least twice the rate",
        'use torch.autocast("cuda", torch.bfloat16), or torch.set_float32_matmul_precision("high") for TF32;'
        " the GPU must have tensor cores",
        evidence={"float32_share": round(share, 4)},
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


def low_intensity(steps: MeasuredSteps) -> Iterator[Finding | str]:
    """``low-intensity``: a function spends its time on operators that compute little with the bytes they read."""
    if not has_flops(steps.ranks):
        yield "no FLOPs were measured: record with measure='flops'"
        return
    on_gpu = any(steps.paths["gpu_calls"]) or any(rank["meta"].get("gpu_name") for rank in steps.ranks)
    if on_gpu and steps.gpu is None:
        yield "kernels of the GPU were not recorded: the times of the host are not those of operators"
        return
    sites = CallSites(steps.trace)
    operators = _operators(steps, sites)
    intense = [each for each in operators if each.intensity >= limits.HIGH_INTENSITY]
    best = max(intense, key=lambda each: each.rate, default=None)
    if best is None:
        yield f"no operator has {limits.HIGH_INTENSITY:.0f} FLOP/B: there is no rate to compare with"
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
        figures.time = steps.unclaimed([path])
        if steps.gpu is not None:  # of kernels
            open_ = (row for row in (path, *steps.below(path)) if row not in steps.claimed)
            figures.time = sum(map(steps.gpu.own.__getitem__, open_))
        figures.forward = steps.calls(path) if sites.passes[path] == "forward" else 0.0
    return [figures for figures in found.values() if figures.time]


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
        f"{steps.name(user)} calls {number(length)} operators of low intensity: {chain.intensity:.2g} FLOP/B",
        steps.where(user),
        chain.time * (1 - 1 / length),
        f"{seconds(chain.time)} {'of kernels ' if steps.gpu else ''}or {percent(chain.time / steps.step)} of a step"
        f" with their backward, at {in_flop(chain.rate, 'FLOP/s')} and"
        f" {size(round(chain.bytes / chain.time * 1e9))} of inputs per second;"
        f" {steps.key(best.paths[0])} reaches {in_flop(best.rate, 'FLOP/s')} at"
        f" {best.intensity:.3g} FLOP/B",
        "compute the chain in one operator: torch.compile fuses it, nn.functional has activations, norms and losses as"
        " one operator",
        evidence={
            "flops_per_step": round(chain.flops),
            "bytes_per_step": round(chain.bytes),
            "ns_per_step": round(chain.time),
            "operators_per_call": round(length, 2),
        },
    )
