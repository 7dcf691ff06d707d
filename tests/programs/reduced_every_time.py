"""Gradients of two micro-batches are reduced twice, without no_sync()."""

import contextlib

import small
from torch import nn
from torch.nn.parallel import DistributedDataParallel

FINDING = "exposed-comm"
RANKS = 2


def main(fault: bool) -> None:
    model, optimizer, x, y = small.training(DistributedDataParallel(small.Net()))
    for _ in range(small.STEPS):
        optimizer.zero_grad()
        with contextlib.nullcontext() if fault else model.no_sync():
            nn.functional.cross_entropy(model(x), y).backward()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
