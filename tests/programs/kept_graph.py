"""The sum of losses keeps the graph of every step."""

import small
import torch
from torch import nn

FINDING = "memory-growth"


def faulty(model: nn.Module, optimizer: torch.optim.Optimizer, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    total = torch.zeros(())
    for _ in range(small.STEPS):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        total = total + loss
    return total


def clean(model: nn.Module, optimizer: torch.optim.Optimizer, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    total = torch.zeros(())
    for _ in range(small.STEPS):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        total = total + loss.detach()
    return total


def main(fault: bool) -> None:
    model = small.Net()
    (faulty if fault else clean)(model, small.optimizer(model), *small.batch())
