"""A layer that runs several times in a step, below autocast without its cache of weights."""

import small
import torch
from torch import nn

FINDING = "device-copy"


class Repeated(nn.Module):
    def __init__(self, fault: bool) -> None:
        super().__init__()
        self.layer = nn.Linear(768, 768)
        self.head = nn.Linear(768, 10)
        self.fault = fault

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        with torch.autocast("cpu", torch.bfloat16, cache_enabled=not self.fault):
            for _ in range(8):
                x = torch.relu(self.layer(x))
            return self.head(x).float()


def main(fault: bool) -> None:
    small.train(Repeated(fault), 4, 768)
