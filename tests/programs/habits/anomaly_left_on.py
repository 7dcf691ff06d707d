"""Anomaly detection is on in the whole training."""

import small
import torch

FINDING = "host-sync"


def main(fault: bool) -> None:
    model = small.Net()
    optimizer = small.optimizer(model)
    x, y = small.batch()
    with torch.autograd.set_detect_anomaly(fault):
        for _ in range(small.STEPS):
            small.step(model, optimizer, x, y)
