"""A model that handles one row of the batch at a time."""

import small
import torch

FINDING = "tiny-ops"


class Rows(small.Net):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.fault:
            return torch.stack([super(Rows, self).forward(row) for row in x])
        return super().forward(x)


def main(fault: bool) -> None:
    small.train(Rows(64, 2, fault=fault), 32, 64)
