"""Each layer makes its causal mask row by row: one finding for the function, not one for each layer."""

import small
import torch

FINDING = "tiny-ops"
LINE = 'mask[row, row + 1 :] = float("-inf")'


def causal_mask(length: int, fault: bool) -> torch.Tensor:
    if not fault:
        return torch.full((length, length), float("-inf")).triu(1)
    mask = torch.zeros(length, length)
    for row in range(length):
        mask[row, row + 1 :] = float("-inf")
    return mask


class Attention(torch.nn.Module):
    def __init__(self, width: int, fault: bool) -> None:
        super().__init__()
        self.project, self.fault = torch.nn.Linear(width, width), fault

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scores = x @ x.T + causal_mask(len(x), self.fault)
        return self.project(scores.softmax(-1) @ x)


def main(fault: bool) -> None:
    model = torch.nn.Sequential(Attention(128, fault), torch.nn.ReLU(), Attention(128, fault), torch.nn.Linear(128, 10))
    small.train(model, 64, 128)
