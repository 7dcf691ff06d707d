"""A model that handles one row of the batch at a time."""

import small
import torch

FINDING = "tiny-ops"


class Rows(small.Net):
    fault = False

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.fault:
            return torch.stack([super(Rows, self).forward(row) for row in x])
        return super().forward(x)


def main(fault: bool) -> None:
    model = Rows(64, 2)
    model.fault = fault
    optimizer = small.optimizer(model)
    x, y = small.batch(32, 64)
    for _ in range(small.STEPS):
        small.step(model, optimizer, x, y)
