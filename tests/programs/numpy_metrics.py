"""A metric in numpy in every step, instead of every tenth one."""

import small
import torch

FINDING = "host-sync"


def accuracy(scores: torch.Tensor, labels: torch.Tensor) -> float:
    best = scores.cpu().numpy().argmax(-1)
    return float((best == labels.cpu().numpy()).mean())


def main(fault: bool) -> None:
    model, optimizer, x, y = small.training(small.Net())
    for number in range(small.STEPS):
        small.step(model, optimizer, x, y)
        if fault or number % 10 == 0:
            accuracy(model.head.bias.detach(), y[:10])
