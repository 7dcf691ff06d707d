"""Each step waits for the reply of a service, instead of every twelfth one."""

import time

import small

FINDING = "host-code"


def report(number: int) -> int:
    time.sleep(0.05)
    return number


def main(fault: bool) -> None:
    model, optimizer, x, y = small.training(small.Net())
    for number in range(small.STEPS):
        small.step(model, optimizer, x, y)
        if fault or number == 12:
            report(number)
