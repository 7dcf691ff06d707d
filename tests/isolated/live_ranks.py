"""Train on gloo until file argv[2] exists, recorded to argv[1]. Rank 1 has no batch while file argv[2].stall exists."""

import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist

import fastdispatch

dist.init_process_group("gloo")
rank = dist.get_rank()
model = torch.nn.Linear(32, 32)
optimizer = torch.optim.SGD(model.parameters(), 1e-3)
ended = torch.zeros(1)


def load_batch() -> torch.Tensor:
    while rank == 1 and Path(f"{sys.argv[2]}.stall").exists():
        time.sleep(0.02)
    return torch.ones(8, 32)


def train_step() -> None:
    optimizer.zero_grad()
    model(load_batch()).sum().backward()
    optimizer.step()


def agree() -> bool:
    """Whether any rank should end: all end in the same step."""
    ended.fill_(Path(sys.argv[2]).exists())
    dist.all_reduce(ended)
    return bool(ended.item())


with fastdispatch.CallGraph(sys.argv[1], steps="all"):
    steps = 0
    while not agree():
        train_step()
        steps += 1
        if steps == 3:
            print("under way", flush=True)
print(steps)
dist.destroy_process_group()
