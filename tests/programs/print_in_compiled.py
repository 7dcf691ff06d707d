"""A compiled model with a statement that cannot be compiled."""

import small
import torch

FINDING = "graph-break"


class Talking(small.Net):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.relu(self.blocks[0](x))
        if self.fault:
            torch._dynamo.graph_break()
        return self.head(x)


def main(fault: bool) -> None:
    small.train(torch.compile(Talking(64, 1, fault=fault), backend="eager"), 64, 64)
