"""zero_grad(set_to_none=False) writes zeros into all gradients."""

import small
from torch import nn

FINDING = "tiny-ops"


def main(fault: bool) -> None:
    model, optimizer, x, y = small.training(small.Net())
    for _ in range(small.STEPS):
        optimizer.zero_grad(set_to_none=not fault)
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
