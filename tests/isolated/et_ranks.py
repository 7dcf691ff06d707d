"""Two ranks of the smallest network train on gloo; two steps are recorded, by us and by PyTorch's observer.
Usage: et_ranks.py FOLDER"""

import sys
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

import fastdispatch

RANKS = 2
STEPS = 2


def train(rank: int, folder: str, meeting: str) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=RANKS)
    network = torch.nn.Sequential(torch.nn.Linear(10, 5), torch.nn.ReLU(), torch.nn.Linear(5, 1))
    model = torch.nn.parallel.DistributedDataParallel(network)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def step() -> None:
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(torch.randn(20, 10)), torch.randn(20, 1)).backward()
        optimizer.step()

    step()
    observer = torch.profiler.ExecutionTraceObserver()
    observer.register_callback(f"{folder}/theirs_{rank}.json")
    with fastdispatch.CallGraph(f"{folder}/run", et=True):
        observer.start()
        for _ in range(STEPS):
            step()
        observer.stop()
    observer.unregister_callback()
    dist.destroy_process_group()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as meeting:
        mp.spawn(train, args=(sys.argv[1], f"{meeting}/store"), nprocs=RANKS)
