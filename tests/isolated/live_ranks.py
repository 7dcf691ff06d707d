"""Train on gloo, RANK of WORLD_SIZE, recording to argv[1], until file argv[3] exists; argv[2]: the rendezvous file.

Rank 1 waits for its batch while file argv[3].stall exists.
"""

import os
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist

import fastdispatch

rank = int(os.environ["RANK"])
dist.init_process_group(
    "gloo", init_method=f"file://{sys.argv[2]}", rank=rank, world_size=int(os.environ["WORLD_SIZE"])
)
model = torch.nn.Linear(32, 32)
optimizer = torch.optim.SGD(model.parameters(), 1e-3)
ended = torch.zeros(1)


def load_batch() -> torch.Tensor:
    while rank == 1 and Path(f"{sys.argv[3]}.stall").exists():
        time.sleep(0.02)
    return torch.ones(8, 32)


def train_step() -> None:
    optimizer.zero_grad()
    model(load_batch()).sum().backward()
    optimizer.step()


def agree() -> bool:
    """Whether any rank should end: all end in the same step."""
    ended.fill_(Path(sys.argv[3]).exists())
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
