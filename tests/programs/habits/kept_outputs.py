"""Hooks keep the outputs of layers of every step, in a list that is never read."""

import small
import torch
from torch import nn

FINDING = "memory-growth"

kept: list[torch.Tensor] = []


def keep(module: nn.Module, inputs: tuple[torch.Tensor, ...], output: torch.Tensor) -> None:
    kept.append(output)


def keep_last(module: nn.Module, inputs: tuple[torch.Tensor, ...], output: torch.Tensor) -> None:
    kept[:] = [output.detach()]  # of the last layer


def main(fault: bool) -> None:
    model = small.Net()
    for block in model.blocks:
        block.register_forward_hook(keep if fault else keep_last)
    small.train(model, 256)
