"""Three epochs of a small network (10-5-1) on four ranks of gloo. Usage: train.py FOLDER"""

import sys
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

import fastdispatch

RANKS = 4
EPOCHS = 3


def train(rank: int, folder: str, meeting: str) -> None:
    dist.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=RANKS)
    torch.manual_seed(rank)
    network = torch.nn.Sequential(torch.nn.Linear(10, 5), torch.nn.ReLU(), torch.nn.Linear(5, 1))
    model = torch.nn.parallel.DistributedDataParallel(network)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    with fastdispatch.CallGraph(folder, et=True, timeline=True):
        for epoch in range(EPOCHS):
            with torch.profiler.record_function(f"ProfilerStep#{epoch}"):
                optimizer.zero_grad()
                loss = torch.nn.functional.mse_loss(model(torch.randn(20, 10)), torch.randn(20, 1))
                loss.backward()
                optimizer.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as meeting:  # forked ranks end before gloo's threads can abort them
        mp.start_processes(train, args=(sys.argv[1], f"{meeting}/store"), nprocs=RANKS, start_method="fork")
