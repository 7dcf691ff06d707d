"""DDP on gloo, RANK of WORLD_SIZE, recorded to argv[1]; rank 1 loads its batches in argv[3] seconds. argv[2]:
rendezvous file."""

import os
import sys
import time

import torch
import torch.distributed as dist

import fastdispatch

rank = int(os.environ["RANK"])
dist.init_process_group(
    "gloo", init_method=f"file://{sys.argv[2]}", rank=rank, world_size=int(os.environ["WORLD_SIZE"])
)
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(64, 64))
optimizer = torch.optim.SGD(model.parameters(), 1e-3)


def load_batch() -> torch.Tensor:
    time.sleep(float(sys.argv[3]) if rank == 1 else 0.02)
    return torch.ones(8, 64)


with fastdispatch.CallGraph(sys.argv[1]) as graph:
    for _ in range(8):
        model(load_batch()).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        graph.step()
dist.destroy_process_group()
