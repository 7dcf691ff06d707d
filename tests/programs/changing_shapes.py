"""A compiled model whose batches have ever new lengths."""

import small
import torch

FINDING = "recompile"


def main(fault: bool) -> None:
    model = small.Net(64, 2)
    compiled = torch.compile(model, backend="eager", dynamic=False)
    optimizer = small.optimizer(model)
    for number in range(small.STEPS):
        x, y = small.batch(64 + 8 * (number % 6) if fault else 64, 64)
        small.step(compiled, optimizer, x, y)
