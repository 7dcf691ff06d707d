"""The program's own generator of batches decodes text in the training loop."""

import json
from collections.abc import Iterator

import small
import torch

FINDING = "input-wait"


def batches(lines: list[str], fault: bool) -> Iterator[torch.Tensor]:
    ready = [torch.randn(128, 384) for _ in range(4)]
    for number in range(small.STEPS):
        if fault:
            numbers = [json.loads(line) for line in lines]
            yield torch.tensor(numbers[:128])
        else:
            yield ready[number % 4]


def main(fault: bool) -> None:
    model, optimizer, _, y = small.training(small.Net())
    lines = [json.dumps([0.5] * 384) for _ in range(1000)]
    for x in batches(lines, fault):
        small.step(model, optimizer, x, y)
