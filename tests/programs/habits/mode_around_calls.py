"""A mode sees each call of PyTorch, as those of frameworks do; the cause is the function that calls."""

from collections.abc import Callable
from typing import Any

import small
import torch
from torch.overrides import TorchFunctionMode

FINDING = "host-sync"
LINE = ".item()"


class Counter(TorchFunctionMode):
    calls = 0

    def __torch_function__(self, function: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.calls += 1
        return function(*args, **(kwargs or {}))


def hits(scores: torch.Tensor, labels: torch.Tensor, fault: bool) -> object:
    best = scores.argmax(1)
    if fault:
        return sum(best[row].item() == labels[row].item() for row in range(len(labels)))
    return (best == labels).sum()


def main(fault: bool) -> None:
    model, optimizer, x, y = small.training(small.Net())
    with Counter():
        for _ in range(small.STEPS):
            small.step(model, optimizer, x, y)
            hits(model(x).detach(), y, fault)
