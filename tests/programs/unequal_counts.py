"""Rank 1 has more micro-batches than rank 0."""

import small
import torch.distributed as dist
from torch import nn

FINDING = "unequal-work"
RANKS = 2


def micro_step(model: nn.Module, size: int) -> None:
    x, y = small.batch(size)
    nn.functional.cross_entropy(model(x), y).backward()


def main(fault: bool) -> None:
    model = small.Net()
    optimizer = small.optimizer(model)
    count = 8 if fault and dist.get_rank() == 1 else 2
    for _ in range(small.STEPS):
        optimizer.zero_grad()
        for _ in range(count):
            micro_step(model, 128)
        flat = nn.utils.parameters_to_vector(parameter.grad for parameter in model.parameters())
        dist.all_reduce(flat)
        optimizer.step()
