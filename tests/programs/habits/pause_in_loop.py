"""A pause in the loop itself, in every step instead of every twelfth one."""

import time

import small

FINDING = "host-code"


def main(fault: bool) -> None:
    model, optimizer, x, y = small.training(small.Net())
    for number in range(small.STEPS):
        small.step(model, optimizer, x, y)
        if fault or number == 12:
            time.sleep(0.05)
