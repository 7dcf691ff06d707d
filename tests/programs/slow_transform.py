"""A Dataset whose transform takes longer than the step, without worker processes."""

import time

import small
import torch
from torch.utils.data import DataLoader, Dataset

FINDING = "input-wait"


class Images(Dataset):
    def __init__(self, fault: bool) -> None:
        self.fault = fault
        self.items = torch.randn(8 * small.STEPS, 384)

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        return self.transform(self.items[index]), index % 10

    def transform(self, item: torch.Tensor) -> torch.Tensor:
        if self.fault:
            time.sleep(0.004)
        return item


def main(fault: bool) -> None:
    model = small.Net(384, 8)
    optimizer = small.optimizer(model)
    for x, y in DataLoader(Images(fault), batch_size=8):
        small.step(model, optimizer, x.repeat(16, 1), y.repeat(16))
