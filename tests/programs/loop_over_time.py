"""A recurrent cell in a Python loop over the time steps, instead of one call of nn.GRU."""

import small
import torch
from torch import nn

FINDING = "tiny-ops"


class Recurrent(nn.Module):
    def __init__(self, fault: bool) -> None:
        super().__init__()
        self.layer = nn.GRUCell(32, 32) if fault else nn.GRU(32, 32)
        self.head = nn.Linear(32, 10)
        self.fault = fault

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if not self.fault:
            return self.head(self.layer(x)[0][-1])
        hidden = torch.zeros(x.shape[1], 32)
        for row in x:
            hidden = self.layer(row, hidden)
        return self.head(hidden)


def main(fault: bool) -> None:
    model = Recurrent(fault)
    optimizer = small.optimizer(model)
    x, y = torch.randn(32, 16, 32), torch.randint(0, 10, (16,))
    for _ in range(small.STEPS):
        small.step(model, optimizer, x, y)
