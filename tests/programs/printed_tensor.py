"""Tensors are printed in the training loop."""

import io

import small

FINDING = "host-sync"


def main(fault: bool) -> None:
    model, optimizer, x, y = small.training(small.Net())
    log = io.StringIO()
    for number in range(small.STEPS):
        small.step(model, optimizer, x, y)
        if fault or number == 0:
            print(model.head.bias, file=log)
