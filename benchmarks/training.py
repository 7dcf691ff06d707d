"""A training step of the example GPT: a short one, where overhead shows, and a long one."""

import sys
from collections.abc import Callable
from pathlib import Path

import torch

import fastdispatch
from benchmarks import peers
from benchmarks.figures import Result
from benchmarks.measure import Effort, Side, Times, interleave, ratios

sys.path.insert(0, str(Path(__file__).parent.parent / "docs" / "examples" / "gpt"))
import pretrain

# Goals: relative to the empty callback and the untraced step of the same run; the long step to the untraced one.
_ABOVE_CALLBACK, _SHORT, _LONG = 0.08, 1.20, 1.02

Step = Callable[[], object]


def model_and_step(batch: int, context: int, width: int, heads: int) -> tuple[torch.nn.Module, Step]:
    torch.manual_seed(0)
    config = pretrain.Config(context=context, width=width, heads=heads)
    model = pretrain.GPT(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, weight_decay=0.1)
    tokens = torch.randint(0, config.vocabulary, (batch, context))
    targets = torch.randint(0, config.vocabulary, (batch, context))

    def step() -> None:
        pretrain.train_step(model, optimizer, tokens, targets)

    for _ in range(3):
        step()
    return model, step


def _step(**sizes: int) -> Step:
    return model_and_step(**sizes)[1]


def _events(step: Step) -> str:
    """Python calls and operators of a step, by our own count."""
    with fastdispatch.CallGraph(None) as graph:
        step()
        assert graph._session is not None
        trace = fastdispatch.Trace(graph._session.trace())
    counts = {"python": 0, "op": 0}
    for node, calls in zip(trace.contexts["node"], trace.contexts["calls"], strict=True):
        kind = trace.nodes["kind"][node]
        if kind in counts:
            counts[kind] += calls
    return f"{counts['python']} Python calls, {counts['op']} operators a step"


def _ours(result: Result) -> dict[str, Side]:
    sides: dict[str, Side] = {"plain": peers.plain, "fastdispatch": peers.recorded()}
    if peers.can_compile():
        sides["empty callback"] = peers.empty_callback
    else:
        result.skip("empty callback", "no C compiler: set CC")
    return sides


def _others(result: Result) -> dict[str, Side]:
    """Cheaper ways to run ours, and the peers."""
    sides: dict[str, Side] = {
        "fastdispatch, timing=False": peers.recorded(timing=False),
        "fastdispatch, ops=off": peers.recorded(ops="off"),
        "fastdispatch, calls=off": peers.recorded(calls="off"),
        "fastdispatch, ops=dispatch": peers.recorded(ops="dispatch"),
        **{f"fastdispatch, measure={what}": peers.recorded(measure=what) for what in ("flops", "shapes", "all")},
        "FlopCounterMode": peers.flop_counter,
        "cProfile (no operators)": peers.c_profile,
        "torch.profiler": peers.torch_profiler(),
        "torch.profiler, stacks and shapes": peers.torch_profiler(with_stack=True, record_shapes=True),
        "Python dispatch mode, empty": peers.empty_mode,
    }
    if peers.installed("viztracer"):
        sides["VizTracer (no operators)"] = peers.viz_tracer(c_functions=False)
        sides["VizTracer with C functions (no operators)"] = peers.viz_tracer(c_functions=True)
    else:
        result.skip("VizTracer", "not installed")
    return sides


def _above(times: Times) -> list[float]:
    """By how much our ratio exceeds that of the empty callback, round by round."""
    ours = ratios(times["fastdispatch"], times["plain"])
    least = ratios(times["empty callback"], times["plain"])
    return [each - other for each, other in zip(ours, least, strict=True)]


def _report(result: Result, name: str, times: Times, bar: float | None) -> None:
    for side in times:
        if side != "plain":
            over = ratios(times[side], times["plain"])
            result.add(f"{name}: {side} / untraced", over, "x", bar if side == "fastdispatch" else None)


def _short_step(result: Result, effort: Effort) -> None:
    step = _step(batch=1, context=16, width=32, heads=2)
    result.add(
        "short step: untraced", interleave({"plain": peers.plain}, step, effort)["plain"], "ns", None, _events(step)
    )
    times = interleave(_ours(result), step, effort, turns=8, repeats=10)
    _report(result, "short step", times, _SHORT)
    if "empty callback" in times:
        result.add("short step: ours above the empty callback", _above(times), "x", _ABOVE_CALLBACK)
    others = {"plain": peers.plain, **_others(result)}
    _report(result, "short step", interleave(others, step, effort, turns=2, repeats=8), None)
    script = {"plain": peers.plain, "inspect.stack() script": peers.stack_script}
    _report(result, "short step", interleave(script, step, effort, turns=1, repeats=1), None)


def _long_step(result: Result, effort: Effort) -> None:
    step = _step(batch=8, context=64, width=128, heads=4)
    sides = _ours(result)
    times = interleave(sides, step, effort, turns=4, repeats=4)
    result.add("long step: untraced", times["plain"], "ns", None, _events(step))
    _report(result, "long step", times, _LONG)


def measure(effort: Effort) -> Result:
    result = Result()
    torch.set_num_threads(1)
    _short_step(result, effort)
    _long_step(result, effort)
    return result
