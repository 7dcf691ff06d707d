"""Activations change their layout and back in every block."""

import small
import torch

FINDING = "device-copy"


class Transposing(small.Net):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for block in self.blocks:
            if self.fault:
                x = self.transposed(self.transposed(x))
            x = torch.relu(block(x))
        return self.head(x[::64])

    def transposed(self, x: torch.Tensor) -> torch.Tensor:
        return x.transpose(0, 1).contiguous()


def main(fault: bool) -> None:
    model, optimizer, x, y = small.training(Transposing(64, 4, fault=fault), 8192, 64)
    for _ in range(small.STEPS):
        small.step(model, optimizer, x, y[::64])
