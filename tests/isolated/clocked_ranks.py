"""Ranks that treat each other as different hosts, train with DistributedDataParallel, and record."""

import os
import sys
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel
from torch.profiler import ProfilerActivity, profile

import fastdispatch
from fastdispatch.record import clocks

STEPS = 8


def train(rank: int, folder: str, port: str, ranks: int) -> None:
    clocks.boot_id = lambda: f"host of rank {rank}"
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=port, RANK=str(rank), WORLD_SIZE=str(ranks))
    with (
        fastdispatch.CallGraph(out=folder, timeline=True),
        profile(activities=[ProfilerActivity.CPU], record_shapes=True) as profiler,
    ):
        dist.init_process_group("gloo", rank=rank, world_size=ranks)
        model = DistributedDataParallel(torch.nn.Linear(16, 4))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(STEPS):
            optimizer.zero_grad()
            model(torch.rand(8, 16)).pow(2).sum().backward()
            optimizer.step()
        time.sleep(0.3)  # the search for a clock server polls every 50 ms
        dist.barrier()
    profiler.export_chrome_trace(f"{folder}/trace_{rank}.json")
    dist.destroy_process_group()


if __name__ == "__main__":
    ranks = int(sys.argv[3])
    mp.start_processes(train, (sys.argv[1], sys.argv[2], ranks), nprocs=ranks, start_method="fork")
