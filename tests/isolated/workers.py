"""Record while DataLoader workers, started as the second argument says, call functions of this file."""

import os
import sys

import torch
from torch.utils.data import DataLoader, Dataset

import fastdispatch


def transform(index: int) -> torch.Tensor:
    return torch.full((2,), index).cumsum(0)


class Data(Dataset):
    def __len__(self) -> int:
        return 24

    def __getitem__(self, index: int) -> torch.Tensor:
        return transform(index)


def epoch(how: str, **options: object) -> float:
    loader = DataLoader(Data(), batch_size=4, num_workers=2, multiprocessing_context=how, **options)
    return sum(batch.sum().item() for batch in loader)


def main() -> None:
    out, how, epochs, children = sys.argv[1:]
    before = dict(os.environ)
    with fastdispatch.CallGraph(out, children=children == "1"):
        totals = [epoch(how) for _ in range(int(epochs))]
    assert dict(os.environ) == before
    assert totals == [3 * sum(range(24))] * int(epochs)


if __name__ == "__main__":
    main()
