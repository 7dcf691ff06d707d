"""A causal mask that is filled one row at a time in every step."""

import small
import torch

FINDING = "tiny-ops"

LENGTH = 256


def causal_mask(fault: bool) -> torch.Tensor:
    if not fault:
        return torch.ones(LENGTH, LENGTH, dtype=torch.bool).triu(1)
    mask = torch.zeros(LENGTH, LENGTH, dtype=torch.bool)
    for row in range(LENGTH):
        mask[row, row + 1 :] = True
    return mask


def main(fault: bool) -> None:
    model = small.Net()
    optimizer = small.optimizer(model)
    x, y = small.batch()
    scores = torch.randn(LENGTH, LENGTH)
    for _ in range(small.STEPS):
        weights = scores.masked_fill(causal_mask(fault), float("-inf")).softmax(1)
        small.step(model, optimizer, x * weights[0, 0], y)
