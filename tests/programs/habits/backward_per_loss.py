"""A backward pass for each of four losses, which run the shared layers backward four times."""

import small
import torch

FINDING = "recompute"
LINE = "loss.backward(retain_graph=True)"


def main(fault: bool) -> None:
    model, optimizer, x, y = small.training(small.Net())
    for _ in range(small.STEPS):
        optimizer.zero_grad()
        losses = [torch.nn.functional.cross_entropy(part, y[:32]) for part in model(x).split(32)]
        if fault:
            for loss in losses:
                loss.backward(retain_graph=True)
        else:
            torch.stack(losses).sum().backward()
        optimizer.step()
