"""An exponential moving average of the weights, parameter by parameter."""

import copy

import small
import torch

FINDING = "tiny-ops"


@torch.no_grad()
def update(average: torch.nn.Module, model: torch.nn.Module, fault: bool) -> None:
    if not fault:
        torch._foreach_lerp_(list(average.parameters()), list(model.parameters()), 0.01)
        return
    for old, new in zip(average.parameters(), model.parameters(), strict=True):
        old.mul_(0.99).add_(new, alpha=0.01)


def main(fault: bool) -> None:
    model, optimizer, x, y = small.training(small.Net(16, 12), 4, 16)
    average = copy.deepcopy(model)
    for _ in range(small.STEPS):
        small.step(model, optimizer, x, y)
        update(average, model, fault)
