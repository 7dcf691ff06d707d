"""An activation of many element-wise operators, which PyTorch has as one."""

import small
import torch
from torch import nn

FINDING = "low-intensity"
OPTIONS = {"measure": "flops"}


def gelu(x: torch.Tensor) -> torch.Tensor:
    inner = 0.7978845608 * (x + 0.044715 * torch.pow(x, 3))
    return 0.5 * x * (1 + torch.tanh(inner))


def activation(x: torch.Tensor, fault: bool) -> torch.Tensor:
    return gelu(gelu(x)) if fault else nn.functional.relu(x)


def main(fault: bool) -> None:
    first, last = nn.Linear(512, 512), nn.Linear(512, 10)
    _, optimizer, x, y = small.training(nn.ModuleList([first, last]), 1024, 512)
    for _ in range(small.STEPS):
        optimizer.zero_grad()
        out = last(activation(first(x), fault))
        nn.functional.cross_entropy(out, y).backward()
        optimizer.step()
