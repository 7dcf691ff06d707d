"""A loss over the rows that a mask selects, whose number only the device knows."""

import small
import torch
from torch import nn

FINDING = "host-sync"


def masked_loss(scores: torch.Tensor, labels: torch.Tensor, mask: torch.Tensor, fault: bool) -> torch.Tensor:
    if fault:
        return nn.functional.cross_entropy(scores[mask], labels[mask])
    losses = nn.functional.cross_entropy(scores, labels, reduction="none")
    return (losses * mask).sum() / mask.sum()


def main(fault: bool) -> None:
    model, optimizer, x, y = small.training(small.Net())
    mask = torch.rand(len(y)) > 0.5
    for _ in range(small.STEPS):
        optimizer.zero_grad()
        masked_loss(model(x), y, mask, fault).backward()
        optimizer.step()
