"""Added cost of an operator, beside the minimum cost of PyTorch's hooks."""

from collections.abc import Callable
from itertools import repeat

import torch

from benchmarks import peers
from benchmarks.figures import Result
from benchmarks.measure import Effort, Side, added, interleave, ratios

_OF_CALLBACK, _OF_MODE = 1.45, 0.85
_OPERATORS = 1_000


def _view(count: int) -> Callable[[], None]:
    """The cheapest operator there is."""
    tensor = torch.ones(1)

    def work() -> None:
        with torch.no_grad():
            for _ in repeat(None, count):
                tensor.view(1)

    return work


def _multiply(count: int) -> Callable[[], None]:
    """One that makes an autograd node, whose number is noted for the backward pass."""
    tensor = torch.ones(1, requires_grad=True)

    def work() -> None:
        for _ in repeat(None, count):
            tensor * tensor

    return work


def measure(effort: Effort) -> Result:
    result = Result()
    torch.set_num_threads(1)
    sides: dict[str, Side] = {
        "plain": peers.plain,
        "record": peers.recorded(ops="record"),
        "record, timing=False": peers.recorded(ops="record", timing=False),
        "dispatch": peers.recorded(ops="dispatch"),
        "empty Python mode": peers.empty_mode,
    }
    if peers.can_compile():
        sides["empty callback"] = peers.empty_callback
    else:
        result.skip("empty callback", "no C compiler: set CC")
    for name, make in {"view": _view, "multiply with gradients": _multiply}.items():
        count = effort.scaled(_OPERATORS)
        times = interleave(sides, make(count), effort, turns=16, repeats=3)
        costs = {side: added(times, side, count) for side in sides if side != "plain"}
        if "empty callback" in costs:
            of_callback = ratios(costs["record"], costs["empty callback"])
            result.add(f"{name}: added cost, record / empty callback", of_callback, "x", _OF_CALLBACK)
        of_mode = ratios(costs["dispatch"], costs["empty Python mode"])
        result.add(f"{name}: added cost, dispatch / empty Python mode", of_mode, "x", _OF_MODE)
        result.add(f"{name}: untraced", [time / count for time in times["plain"]], "ns")
        for side, cost in costs.items():
            result.add(f"{name}: added by {side}", cost, "ns")
    return result
