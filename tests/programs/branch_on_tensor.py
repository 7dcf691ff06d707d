"""The model branches on a value of its activations."""

import small
import torch

FINDING = "host-sync"


class Guarded(small.Net):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = super().forward(x)
        if self.fault:
            if (x.abs() > 1e4).any():
                x = x.clamp(-1e4, 1e4)
            return x
        return torch.where(x.abs() > 1e4, x.clamp(-1e4, 1e4), x)


def main(fault: bool) -> None:
    small.train(Guarded(fault=fault))
