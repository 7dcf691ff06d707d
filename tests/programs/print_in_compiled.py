"""A compiled model with a statement that cannot be compiled."""

import small
import torch

FINDING = "graph-break"


class Talking(small.Net):
    fault = False

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.relu(self.blocks[0](x))
        if self.fault:
            torch._dynamo.graph_break()
        return self.head(x)


def main(fault: bool) -> None:
    model = Talking(64, 1)
    model.fault = fault
    compiled = torch.compile(model, backend="eager")
    optimizer = small.optimizer(model)
    x, y = small.batch(64, 64)
    for _ in range(small.STEPS):
        small.step(compiled, optimizer, x, y)
