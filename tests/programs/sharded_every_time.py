"""FSDP2 reduces the gradients of each of four micro-batches."""

import small
from torch import nn
from torch.distributed.fsdp import fully_shard

FINDING = "exposed-comm"
RANKS = 2
LINE = "backward"


def main(fault: bool) -> None:
    net = small.Net()
    for block in net.blocks:
        fully_shard(block)
    model, optimizer, x, y = small.training(fully_shard(net))
    for _ in range(small.STEPS):
        for micro in range(4):
            if not fault:
                model.set_requires_gradient_sync(micro == 3)
            nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
        optimizer.zero_grad()
