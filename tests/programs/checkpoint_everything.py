"""Every block is checkpointed, although the activations are small."""

import small
import torch
from torch.utils.checkpoint import checkpoint

FINDING = "recompute"


class Checkpointed(small.Net):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for first, second in zip(self.blocks[::2], self.blocks[1::2], strict=True):
            if self.fault:
                x = checkpoint(self.block, first, second, x, use_reentrant=False)
            else:
                x = self.block(first, second, x)
        return self.head(x)

    def block(self, first: torch.nn.Module, second: torch.nn.Module, x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(second(torch.tanh(first(x))))


def main(fault: bool) -> None:
    small.train(Checkpointed(384, 6, fault=fault))
