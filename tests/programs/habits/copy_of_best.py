"""The best model is a deep copy, made in every step."""

import copy

import small
import torch

FINDING = "device-copy"


def main(fault: bool) -> torch.nn.Module:
    model = best = small.Net()
    optimizer = small.optimizer(model)
    x, y = small.batch()
    for number in range(small.STEPS):
        small.step(model, optimizer, x, y)
        if fault or number == 12:
            best = copy.deepcopy(model)
    return best
