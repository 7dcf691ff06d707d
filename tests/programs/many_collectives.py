"""Each gradient has its own all-reduce, after backward."""

import small
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

FINDING = "exposed-comm"
RANKS = 2


def average_gradients(model: nn.Module) -> None:
    for parameter in model.parameters():
        assert parameter.grad is not None
        dist.all_reduce(parameter.grad)
        parameter.grad /= dist.get_world_size()


def main(fault: bool) -> None:
    torch.manual_seed(0)
    net = small.Net(128, 12)
    model, optimizer, x, y = small.training(net if fault else DistributedDataParallel(net), 128, 128)
    for _ in range(small.STEPS):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        if fault:
            average_gradients(model)
        optimizer.step()
