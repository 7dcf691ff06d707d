"""Record while DataLoader workers are forked that run Python code and operators."""

import os
import sys

import torch
from torch.utils.data import DataLoader, Dataset

import fastdispatch


def only_in_workers(index: int) -> torch.Tensor:
    assert os.getpid() != PARENT
    return torch.full((2,), index).cumsum(0)


class Data(Dataset):
    def __len__(self) -> int:
        return 64

    def __getitem__(self, index: int) -> torch.Tensor:
        return only_in_workers(index)


PARENT = os.getpid()
with fastdispatch.CallGraph(sys.argv[1]) as graph:
    total = sum(
        batch.sum().item() for batch in DataLoader(Data(), batch_size=8, num_workers=2, multiprocessing_context="fork")
    )
    pid = os.fork()
    if pid == 0:
        only_in_workers(3)
        graph.stop()
        os._exit(0)
    os.waitpid(pid, 0)
assert total == 3 * sum(range(64))
