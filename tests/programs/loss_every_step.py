"""A log line with the loss in every step, instead of every tenth one."""

import io

import small

FINDING = "host-sync"


def main(fault: bool) -> None:
    model, optimizer, x, y = small.training(small.Net())
    log = io.StringIO()
    for number in range(small.STEPS):
        loss = small.step(model, optimizer, x, y)
        if fault or number % 10 == 0:
            log.write(f"step {number} loss {loss.item():.4f}\n")
