"""What measured figures add to a short training step, beside other tools that count the same."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from benchmarks import peers, training
from benchmarks.figures import Result
from benchmarks.measure import Effort, Side, interleave, ratios

# Goals: shares of the untraced step, above recording without figures.
_OPERANDS, _MEMORY = 0.25, 0.05


@contextmanager
def _empty_callback_with_inputs() -> Iterator[None]:
    """PyTorch's part of reading operands: it boxes the arguments of each operator."""
    with peers.empty_callback(inputs=True):
        yield


_STEPS = 16


def _ours() -> dict[str, tuple[Side, float | None]]:
    """Sides and their goals."""
    all_of = "flops,comm,shapes"
    return {
        "fastdispatch, measure=flops": (peers.recorded(measure="flops"), None),
        f"fastdispatch, measure={all_of}": (peers.recorded(measure=all_of), _OPERANDS),
        "fastdispatch, measure=memory": (peers.recorded(measure="memory"), _MEMORY),
    }


def _others(result: Result, model: torch.nn.Module) -> dict[str, Side]:
    sides: dict[str, Side] = {
        "FlopCounterMode": peers.flop_counter,
        "torch.profiler, profile_memory": peers.torch_profiler(profile_memory=True),
        "torch.profiler, with_flops": peers.torch_profiler(with_flops=True),
    }
    if peers.can_compile():
        sides["empty callback"] = peers.empty_callback
        sides["empty callback that needs inputs"] = _empty_callback_with_inputs
    else:
        result.skip("empty callbacks", "no C compiler: set CC")
    if peers.installed("deepspeed"):
        sides["DeepSpeed's flops profiler (forward)"] = peers.deepspeed_flops(model)
    else:
        result.skip("DeepSpeed's flops profiler", "not installed")
    result.skip("memory snapshot", "PyTorch records it for CUDA only")
    return sides


def measure(effort: Effort) -> Result:
    result = Result()
    torch.set_num_threads(1)
    model, step = training.model_and_step(batch=1, context=16, width=32, heads=2)
    ours = _ours()
    sides: dict[str, Side] = {"plain": peers.plain, "fastdispatch": peers.recorded()}
    sides |= {name: side for name, (side, _) in ours.items()}

    def steps() -> None:
        for _ in range(_STEPS):
            step()

    times = interleave(sides, steps, effort, turns=3, repeats=3)
    base = ratios(times["fastdispatch"], times["plain"])
    for name, (_, bar) in ours.items():
        over = ratios(times[name], times["plain"])
        more = [each - other for each, other in zip(over, base, strict=True)]
        result.add(f"{name}: above recording alone", more, "x", bar)
    others = interleave({"plain": peers.plain, **_others(result, model)}, step, effort, turns=2, repeats=8)
    for name in others:
        if name != "plain":
            result.add(f"{name} / untraced", ratios(others[name], others["plain"]), "x")
    return result
