"""An optimizer that updates each of many parameters with its own operators."""

import small
import torch

FINDING = "unfused-optimizer"


def main(fault: bool) -> None:
    model = small.Net(32, 40)
    optimizer = torch.optim.AdamW(model.parameters(), **{"foreach": False} if fault else {"fused": True})
    x, y = small.batch(128, 32)
    for _ in range(small.STEPS):
        small.step(model, optimizer, x, y)
