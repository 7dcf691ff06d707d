"""A layer converts its weight in every forward pass."""

import small
import torch
from torch import nn

FINDING = "device-copy"


class Table(nn.Module):
    def __init__(self, fault: bool) -> None:
        super().__init__()
        self.rows = nn.Parameter(torch.randn(3000, 384, dtype=torch.float64 if fault else torch.float32))
        self.head = nn.Linear(384, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(x + self.rows.float()[:128])


def main(fault: bool) -> None:
    small.train(Table(fault))
