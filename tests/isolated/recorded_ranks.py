"""Record a training with DistributedDataParallel. Arguments: folder, ranks, epochs, steps per epoch."""

from __future__ import annotations

import sys
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel

import fastdispatch


def train(rank: int, folder: str, ranks: int, epochs: int, steps: int) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}.store", rank=rank, world_size=ranks)
    model = DistributedDataParallel(torch.nn.Sequential(torch.nn.Linear(16, 64), torch.nn.Linear(64, 4)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with fastdispatch.CallGraph(folder, timeline=True):
        for epoch in range(epochs):
            with fastdispatch.label(f"epoch {epoch}"):
                for _ in range(steps):
                    optimizer.zero_grad()
                    model(torch.rand(8, 16)).pow(2).sum().backward()
                    optimizer.step()
        time.sleep(0.3)  # a thread of gloo may still be running after the wait
    dist.destroy_process_group()


if __name__ == "__main__":
    folder, (ranks, *counts) = sys.argv[1], map(int, sys.argv[2:])
    mp.start_processes(train, (folder, ranks, *counts), nprocs=ranks, start_method="fork")
