"""Rank 1 has batches of four times the size."""

import small
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

FINDING = "unequal-work"
RANKS = 2


def main(fault: bool) -> None:
    small.train(DistributedDataParallel(small.Net()), 1024 if fault and dist.get_rank() == 1 else 128)
