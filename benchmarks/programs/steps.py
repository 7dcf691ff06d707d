"""Many short training steps: python steps.py COUNT."""

import sys

import torch
from torch import nn


def main(count: int) -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 8))
    optimizer = torch.optim.AdamW(model.parameters())
    data = torch.randn(4, 8)
    for _ in range(count):
        optimizer.zero_grad()
        model(data).square().mean().backward()
        optimizer.step()


if __name__ == "__main__":
    main(int(sys.argv[1]))
