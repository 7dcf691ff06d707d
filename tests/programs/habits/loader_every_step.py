"""``next(iter(loader))`` in every step: the sampler shuffles the whole data set for each batch."""

import small
import torch

FINDING = "input-wait"
LINE = "x, y = next(iter(loader))"


class Rows(torch.utils.data.Dataset):
    def __init__(self) -> None:
        self.x, self.y = small.batch()

    def __len__(self) -> int:
        return 200_000

    def __getitem__(self, row: int) -> tuple[torch.Tensor, torch.Tensor]:
        return self.x[row % len(self.x)], self.y[row % len(self.x)]


def main(fault: bool) -> None:
    model = small.Net()
    optimizer = small.optimizer(model)
    loader = torch.utils.data.DataLoader(Rows(), batch_size=8, shuffle=True)
    batches = iter(loader)
    for _ in range(small.STEPS):
        if fault:
            x, y = next(iter(loader))
        else:
            x, y = next(batches)
        small.step(model, optimizer, x, y)
