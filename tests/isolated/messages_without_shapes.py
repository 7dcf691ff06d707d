"""Send messages both ways on two ranks with torch.profiler, one by one and in batches. Argument: folder."""

import sys
from collections.abc import Callable
from pathlib import Path

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.profiler import ProfilerActivity, profile

MESSAGES = 10


def one_by_one(rank: int) -> None:
    tensor = torch.ones(100)
    for number in range(MESSAGES):
        for source in (0, 1):
            if rank == source:
                dist.send(tensor, 1 - rank, tag=number)
            else:
                dist.recv(tensor, 1 - rank, tag=number)


def batched(rank: int) -> None:
    for _ in range(MESSAGES):
        sending = dist.P2POp(dist.isend, torch.ones(100), 1 - rank)
        for request in dist.batch_isend_irecv([sending, dist.P2POp(dist.irecv, torch.empty(100), 1 - rank)]):
            request.wait()


def work(rank: int, folder: str) -> None:
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=2)
    functions: tuple[Callable[[int], None], ...] = (one_by_one, batched)
    for function in functions:
        dist.barrier()
        with profile(activities=[ProfilerActivity.CPU], record_shapes=False) as profiler:
            function(rank)
        profiler.export_chrome_trace(f"{folder}/{function.__name__}_{rank}.json")
    dist.destroy_process_group()


if __name__ == "__main__":
    Path(sys.argv[1]).mkdir()
    mp.start_processes(work, (sys.argv[1],), nprocs=2, start_method="fork")
