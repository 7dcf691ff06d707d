"""The parts that the programs share: a model whose step takes some milliseconds, and its data."""

from typing import TypeVar

import torch
from torch import nn

STEPS = 24

Model = TypeVar("Model", bound=nn.Module)


class Net(nn.Module):
    def __init__(self, width: int = 384, depth: int = 3, fault: bool = False) -> None:
        super().__init__()
        self.fault = fault
        self.blocks = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))
        self.head = nn.Linear(width, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for block in self.blocks:
            x = torch.relu(block(x))
        return self.head(x)


def batch(size: int = 128, width: int = 384) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.randn(size, width), torch.randint(0, 10, (size,))


def optimizer(model: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.SGD(model.parameters(), lr=0.01)


def step(model: nn.Module, optimizer: torch.optim.Optimizer, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """One step of training; returns the loss without its graph."""
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    return loss.detach()


def training(
    model: Model, size: int = 128, width: int = 384
) -> tuple[Model, torch.optim.Optimizer, torch.Tensor, torch.Tensor]:
    """The model, its optimizer, and a batch."""
    return model, optimizer(model), *batch(size, width)


def train(model: nn.Module, size: int = 128, width: int = 384) -> None:
    """Train for STEPS steps on one batch."""
    model, optimizer, x, y = training(model, size, width)
    for _ in range(STEPS):
        step(model, optimizer, x, y)
