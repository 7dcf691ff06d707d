"""A checkpoint of the model and the optimizer in every step."""

import io

import small
import torch

FINDING = "device-copy"


def save(model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> None:
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, io.BytesIO())


def main(fault: bool) -> None:
    model, optimizer, x, y = small.training(small.Net())
    for number in range(small.STEPS):
        small.step(model, optimizer, x, y)
        if fault or number == 12:
            save(model, optimizer)
