"""A loss that is divided by a Python number, the standard deviation of the scores."""

import small
import torch
from torch import nn

FINDING = "host-sync"


class Scaled(nn.Module):
    def __init__(self, fault: bool) -> None:
        super().__init__()
        self.fault = fault

    def forward(self, scores: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        loss = nn.functional.cross_entropy(scores, y)
        spread = scores.detach().std()
        return loss / float(spread) if self.fault else loss / spread


def main(fault: bool) -> None:
    criterion = Scaled(fault)
    model, optimizer, x, y = small.training(small.Net())
    for _ in range(small.STEPS):
        optimizer.zero_grad()
        criterion(model(x), y).backward()
        optimizer.step()
