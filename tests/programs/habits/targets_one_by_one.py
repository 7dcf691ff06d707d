"""Targets that are encoded one at a time: each number of a class is read from a tensor."""

import small
import torch

FINDING = "host-sync"


def encode(targets: torch.Tensor, classes: int, fault: bool) -> torch.Tensor:
    if not fault:
        return torch.nn.functional.one_hot(targets, classes).float()
    rows = []
    for target in targets:
        row = torch.zeros(classes)
        row[target] = 1
        rows.append(row)
    return torch.stack(rows)


def main(fault: bool) -> None:
    model, optimizer, x, y = small.training(small.Net())
    for _ in range(small.STEPS):
        wanted = encode(y, 10, fault)
        optimizer.zero_grad()
        loss = -(wanted * model(x).log_softmax(1)).sum(1).mean()
        loss.backward()
        optimizer.step()
