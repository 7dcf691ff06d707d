"""DDP on gloo, recorded to argv[1]; rank 1 loads its batches in argv[2] seconds."""

import sys
import time

import torch
import torch.distributed as dist

import fastdispatch

dist.init_process_group("gloo")
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(64, 64))
optimizer = torch.optim.SGD(model.parameters(), 1e-3)


def load_batch() -> torch.Tensor:
    time.sleep(float(sys.argv[2]) if dist.get_rank() == 1 else 0.02)
    return torch.ones(8, 64)


with fastdispatch.CallGraph(sys.argv[1]) as graph:
    for _ in range(8):
        model(load_batch()).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        graph.step()
dist.destroy_process_group()
