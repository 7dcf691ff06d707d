"""A step of a small training: some 200 operators, most of them of a few microseconds on a GPU."""

from collections.abc import Callable

import torch

LAYERS, WIDTH, ROWS = 8, 512, 256


def make_step(device: str) -> Callable[[], None]:
    torch.manual_seed(0)
    layers: list[torch.nn.Module] = []
    for _ in range(LAYERS):
        layers += [torch.nn.Linear(WIDTH, WIDTH), torch.nn.GELU(), torch.nn.LayerNorm(WIDTH)]
    model = torch.nn.Sequential(*layers).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    rows = torch.randn(ROWS, WIDTH, device=device)

    def step() -> None:
        optimizer.zero_grad()
        model(rows).square().mean().backward()
        optimizer.step()

    return step
