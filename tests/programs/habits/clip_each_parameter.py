"""Gradients are clipped parameter by parameter."""

import small
from torch import nn

FINDING = "tiny-ops"


def clip(model: nn.Module, fault: bool) -> None:
    if not fault:
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        return
    for parameter in model.parameters():
        nn.utils.clip_grad_norm_(parameter, 1.0)


def main(fault: bool) -> None:
    model, optimizer, x, y = small.training(small.Net(64, 8), 64, 64)
    for _ in range(small.STEPS):
        optimizer.zero_grad()
        for _ in range(2):
            nn.functional.cross_entropy(model(x), y).backward()
        clip(model, fault)
        optimizer.step()
