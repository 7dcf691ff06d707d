"""The best model is a deep copy, made in every step."""

import copy

import small
import torch

FINDING = "device-copy"


def main(fault: bool) -> torch.nn.Module:
    model, optimizer, x, y = small.training(small.Net())
    best = model
    for number in range(small.STEPS):
        small.step(model, optimizer, x, y)
        if fault or number == 12:
            best = copy.deepcopy(model)
    return best
