"""A metric of the epoch that extends a list of Python numbers in every step."""

import small
import torch

FINDING = "host-sync"


def train_epoch(model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> list[int]:
    predictions: list[int] = []
    for _ in range(8):
        x, y = small.batch()
        optimizer.zero_grad()
        scores = model(x)
        torch.nn.functional.cross_entropy(scores, y).backward()
        optimizer.step()
        predictions.extend(scores.argmax(-1).tolist())
    return predictions


def train_epoch_well(model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> list[int]:
    predictions: list[torch.Tensor] = []
    for _ in range(8):
        x, y = small.batch()
        optimizer.zero_grad()
        scores = model(x)
        torch.nn.functional.cross_entropy(scores, y).backward()
        optimizer.step()
        predictions.append(scores.detach().argmax(-1))
    return torch.cat(predictions).tolist()


def main(fault: bool) -> None:
    model = small.Net()
    optimizer = small.optimizer(model)
    for _ in range(3):
        (train_epoch if fault else train_epoch_well)(model, optimizer)
