"""A Python function that is called for every element."""

import small

FINDING = "own-cost"


def clip(value: int) -> int:
    return value if value < 9 else 9


def main(fault: bool) -> None:
    model, optimizer, x, y = small.training(small.Net(64, 1), 16, 64)
    labels = list(range(100_000))
    for _ in range(small.STEPS):
        small.step(model, optimizer, x, y)
        if fault:
            sum(map(clip, labels))
