"""Each step goes through a list that it also extends."""

import small
import torch

FINDING = "slowdown"


def smoothed(history: list[torch.Tensor]) -> torch.Tensor:
    total = torch.zeros(256, 256)
    for past in history:
        total = total + past
    return total / len(history)


def main(fault: bool) -> None:
    model, optimizer, x, y = small.training(small.Net(64, 1), 16, 64)
    history: list[torch.Tensor] = []
    for _ in range(3 * small.STEPS):
        small.step(model, optimizer, x, y)
        history.append(torch.ones(256, 256))
        del history[: 0 if fault else -4]
        smoothed(history)
