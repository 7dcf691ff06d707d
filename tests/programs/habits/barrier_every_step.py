"""The ranks wait at a barrier after every step; without the fault, once before the first step."""

import small
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

FINDING = "exposed-comm"
RANKS = 2


def main(fault: bool) -> None:
    model, optimizer, x, y = small.training(DistributedDataParallel(small.Net()))
    dist.barrier()
    for _ in range(small.STEPS):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
        if fault:
            dist.barrier()
