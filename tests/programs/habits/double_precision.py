"""The input comes from NumPy, whose numbers are float64, and the model was converted to fit."""

import numpy as np
import small
import torch

FINDING = "double-precision"


def main(fault: bool) -> None:
    model = small.Net()
    _, y = small.batch()
    x = torch.from_numpy(np.random.default_rng(0).standard_normal((128, 384)))
    if fault:
        model = model.double()
    else:
        x = x.float()
    optimizer = small.optimizer(model)
    for _ in range(small.STEPS):
        small.step(model, optimizer, x, y)
