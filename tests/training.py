"""Real training steps of the example GPT, for the tests."""

from collections.abc import Callable

import pretrain
import torch

SMALL = {"context": 16, "width": 32, "heads": 2}


def make_step(layers: int = 2, *, dropout: float = 0.1) -> tuple[torch.nn.Module, Callable[[], float]]:
    """A model and a function that trains it for one step on fixed data."""
    torch.manual_seed(0)
    config = pretrain.Config(layers=layers, dropout=dropout, **SMALL)
    model = pretrain.GPT(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    tokens = torch.randint(0, 256, (2, config.context))
    targets = torch.randint(0, 256, (2, config.context))

    def step() -> float:
        return pretrain.train_step(model, optimizer, tokens, targets)

    return model, step
