"""Five steps of data-parallel training; the launcher or the scheduler gives rank and world size."""

import os

import torch
import torch.distributed as dist
from torch import nn

# PyTorch reads RANK and WORLD_SIZE; Slurm and MPI use other names.
for rank, world in (("SLURM_PROCID", "SLURM_NTASKS"), ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE")):
    if "RANK" not in os.environ and rank in os.environ:
        os.environ.update(RANK=os.environ[rank], WORLD_SIZE=os.environ[world])


def train_step(model, optimizer, batch):
    optimizer.zero_grad()
    loss = model(batch).square().mean()
    loss.backward()
    optimizer.step()
    return loss.item()


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    model = nn.parallel.DistributedDataParallel(nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(5):
        loss = train_step(model, optimizer, torch.ones(4, 8))
    print(f"rank {dist.get_rank()}: loss {loss!r}\n", end="", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
