"""Anomaly detection is on in the whole training."""

import small
import torch

FINDING = "host-sync"


def main(fault: bool) -> None:
    model, optimizer, x, y = small.training(small.Net())
    with torch.autograd.set_detect_anomaly(fault):
        for _ in range(small.STEPS):
            small.step(model, optimizer, x, y)
