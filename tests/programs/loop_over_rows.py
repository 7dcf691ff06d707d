"""A loss that is computed row by row, instead of once for the batch."""

import small
import torch

FINDING = "tiny-ops"


def distance(scores: torch.Tensor, centres: torch.Tensor, fault: bool) -> torch.Tensor:
    if not fault:
        return (scores - centres).square().sum(1).mean()
    total = torch.zeros(())
    for row in range(len(scores)):
        total = total + (scores[row] - centres[row]).square().sum()
    return total / len(scores)


def main(fault: bool) -> None:
    model, optimizer, x, _ = small.training(small.Net())
    centres = torch.randn(128, 10)
    for _ in range(small.STEPS):
        optimizer.zero_grad()
        distance(model(x), centres, fault).backward()
        optimizer.step()
