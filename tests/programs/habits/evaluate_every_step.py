"""The model is evaluated after every step instead of every twelfth one."""

import small
import torch

FINDING = "evaluation"
LINE = "validate(model, held_out)"


@torch.no_grad()
def validate(model: torch.nn.Module, batches: list[tuple[torch.Tensor, torch.Tensor]]) -> torch.Tensor:
    model.eval()
    right = torch.stack([(model(x).argmax(1) == y).sum() for x, y in batches])
    model.train()
    return right.sum()


def main(fault: bool) -> None:
    model, optimizer, x, y = small.training(small.Net())
    held_out = [small.batch() for _ in range(3)]
    for number in range(small.STEPS):
        small.step(model, optimizer, x, y)
        if fault or number == 12:
            validate(model, held_out)
