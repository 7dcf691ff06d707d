"""A slow layer: SLEEP seconds forward, twice that backward."""

import os
import time
from typing import Any

import torch
from torch import nn

SECONDS = float(os.environ.get("SLEEP", "0"))


class Slept(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, input: torch.Tensor) -> torch.Tensor:
        time.sleep(SECONDS)
        return input.clone()

    @staticmethod
    def backward(context: Any, *gradients: torch.Tensor) -> torch.Tensor:
        time.sleep(2 * SECONDS)
        return gradients[0]


class Sleep(nn.Module):
    def forward(self, input: torch.Tensor) -> torch.Tensor:
        return Slept.apply(input)


def with_sleep(module: nn.Module) -> nn.Module:
    """The module itself if nothing sleeps."""
    return nn.Sequential(module, Sleep()) if SECONDS else module
