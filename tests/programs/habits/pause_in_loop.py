"""A pause in the loop itself, in every step instead of every twelfth one."""

import time

import small

FINDING = "host-code"


def main(fault: bool) -> None:
    model = small.Net()
    optimizer = small.optimizer(model)
    x, y = small.batch()
    for number in range(small.STEPS):
        small.step(model, optimizer, x, y)
        if fault or number == 12:
            time.sleep(0.05)
