"""A Python function that is called for every element."""

import small

FINDING = "own-cost"


def clip(value: int) -> int:
    return value if value < 9 else 9


def main(fault: bool) -> None:
    model = small.Net(64, 1)
    optimizer = small.optimizer(model)
    x, y = small.batch(16, 64)
    labels = list(range(100_000))
    for _ in range(small.STEPS):
        small.step(model, optimizer, x, y)
        if fault:
            sum(map(clip, labels))
