"""A worker process whose collate function takes longer than the step."""

import time

import numpy
import small
import torch
from torch.utils.data import DataLoader

FINDING = "input-wait"


def collate(rows: list[numpy.ndarray]) -> numpy.ndarray:
    return numpy.stack(rows)


def collate_slowly(rows: list[numpy.ndarray]) -> numpy.ndarray:
    time.sleep(0.25)
    return collate(rows)


def main(fault: bool) -> None:
    model = small.Net(384, 8)
    optimizer = small.optimizer(model)
    y = torch.randint(0, 10, (128,))
    rows = list(numpy.ones((8 * 16, 384), dtype="f4"))
    loader = DataLoader(rows, batch_size=8, num_workers=1, collate_fn=collate_slowly if fault else collate)
    for x in loader:
        small.step(model, optimizer, torch.from_numpy(x).repeat(16, 1), y)
