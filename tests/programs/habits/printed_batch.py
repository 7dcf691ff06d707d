"""A function that makes input prints the batch: printing is the cause, not the input."""

import io

import small
import torch

FINDING = "host-sync"
LINE = 'print("batch", x, y, file=LOG)'
LOG = io.StringIO()


def load_batch(fault: bool) -> tuple[torch.Tensor, torch.Tensor]:
    x, y = small.batch(16)
    if fault:
        print("batch", x, y, file=LOG)
    return x, y


def main(fault: bool) -> None:
    model = small.Net(384, 1)
    optimizer = small.optimizer(model)
    for _ in range(small.STEPS):
        x, y = load_batch(fault)
        small.step(model, optimizer, x, y)
