"""Each step trains on all rows so far: the same calls on ever larger tensors."""

import small
import torch

FINDING = "slowdown"


def main(fault: bool) -> None:
    model = small.Net(128, 1)
    optimizer = small.optimizer(model)
    rows = torch.zeros(0, 128)
    for _ in range(2 * small.STEPS):
        x, _ = small.batch(128, 128)
        rows = torch.cat([rows, x])[0 if fault else -128 :]
        small.step(model, optimizer, rows, torch.zeros(len(rows), dtype=torch.long))
