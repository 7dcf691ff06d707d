"""gc.collect() in every step."""

import gc

import small

FINDING = "gc-pause"


def main(fault: bool) -> None:
    model, optimizer, x, y = small.training(small.Net())
    for number in range(small.STEPS):
        small.step(model, optimizer, x, y)
        if fault or number == 0:
            gc.collect()
