"""Rank 1 does extra work in every step."""

import time

import small
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

FINDING = "slow-rank"
RANKS = 2


def write_statistics() -> None:
    time.sleep(0.03)


def main(fault: bool) -> None:
    model, optimizer, x, y = small.training(DistributedDataParallel(small.Net()))
    for _ in range(small.STEPS):
        small.step(model, optimizer, x, y)
        if fault and dist.get_rank() == 1:
            write_statistics()
