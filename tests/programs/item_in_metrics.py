"""An accuracy that reads each row of the batch as a Python number."""

import small
import torch

FINDING = "host-sync"


def accuracy(scores: torch.Tensor, labels: torch.Tensor, fault: bool) -> object:
    best = scores.argmax(1)
    if fault:
        return sum(best[row].item() == labels[row].item() for row in range(len(labels)))
    return (best == labels).sum()


def main(fault: bool) -> None:
    model, optimizer, x, y = small.training(small.Net())
    for _ in range(small.STEPS):
        small.step(model, optimizer, x, y)
        accuracy(model(x).detach(), y, fault)
