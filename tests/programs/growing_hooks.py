"""Each step registers another hook, and later steps call all of them."""

import small
import torch
from torch import nn

FINDING = "slowdown"


def watch(module: nn.Module, inputs: tuple[torch.Tensor, ...], output: torch.Tensor) -> None:
    output.detach().mean()


def main(fault: bool) -> None:
    model, optimizer, x, y = small.training(small.Net())
    for number in range(2 * small.STEPS):
        if fault or number == 0:
            model.head.register_forward_hook(watch)
        small.step(model, optimizer, x, y)
