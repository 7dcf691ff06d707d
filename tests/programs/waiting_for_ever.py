"""Rank 1 leaves the loop early and waits for something else; rank 0 waits for rank 1 in a collective."""

import time

import small
import torch
import torch.distributed as dist

FINDING = "hang"
RANKS = 2
HANGS = True


def wait_for_file() -> None:
    time.sleep(600)


def main(fault: bool) -> None:
    model, optimizer, x, y = small.training(small.Net())
    for number in range(small.STEPS):
        if fault and number == 10 and dist.get_rank() == 1:
            wait_for_file()
        loss = small.step(model, optimizer, x, y)
        dist.all_reduce(torch.stack([loss, loss]))
