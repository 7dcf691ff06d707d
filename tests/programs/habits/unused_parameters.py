"""A search for parameters without gradient in every step."""

import small
import torch

FINDING = "host-sync"


def unused(model: torch.nn.Module) -> list[str]:
    return [name for name, each in model.named_parameters() if each.grad is None or each.grad.abs().sum() == 0]


def main(fault: bool) -> None:
    model, optimizer, x, y = small.training(small.Net())
    for number in range(small.STEPS):
        small.step(model, optimizer, x, y)
        if fault or number == 0:
            unused(model)
