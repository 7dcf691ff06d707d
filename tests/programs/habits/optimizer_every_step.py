"""An optimizer that is constructed in every step, so that its momentum begins at zero."""

import small
import torch

FINDING = "construction"
LINE = "return torch.optim.SGD("


def momentum(model: torch.nn.Module) -> torch.optim.Optimizer:
    return torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)


def main(fault: bool) -> None:
    model = small.Net()
    optimizer = momentum(model)
    x, y = small.batch()
    for _ in range(small.STEPS):
        if fault:
            optimizer = momentum(model)
        small.step(model, optimizer, x, y)
