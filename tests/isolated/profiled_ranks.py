"""Train on four ranks with torch.profiler. Argument: folder for the traces."""

import sys
from pathlib import Path

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel
from torch.profiler import ProfilerAction, ProfilerActivity, profile

RANKS = 4


def train(rank: int, folder: str) -> None:
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=RANKS)
    model = DistributedDataParallel(
        torch.nn.Sequential(torch.nn.Linear(16, 64), torch.nn.ReLU(), torch.nn.Linear(64, 4))
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model(torch.ones(2, 16)).sum().backward()
    dist.barrier()
    with profile(
        activities=[ProfilerActivity.CPU], record_shapes=True, schedule=lambda step: ProfilerAction.RECORD
    ) as profiler:
        for _ in range(3):
            optimizer.zero_grad()
            model(torch.rand(8, 16)).pow(2).sum().backward()
            optimizer.step()
            profiler.step()
        dist.barrier()
    profiler.export_chrome_trace(f"{folder}/trace_{rank}.json")
    dist.destroy_process_group()


if __name__ == "__main__":
    Path(sys.argv[1]).mkdir()
    mp.start_processes(train, (sys.argv[1],), nprocs=RANKS, start_method="fork")
