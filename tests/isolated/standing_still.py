"""Stand still in an unrecorded step of a budget: one thread in a method, another in a generator."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator

import fastdispatch

STEPS = 200
ready = threading.Barrier(3, action=lambda: print("under way", flush=True))


class Block:
    def forward(self, number: int) -> None:
        wait(number)


class Layer(Block):
    pass


def wait(number: int) -> None:
    if number == STEPS:
        ready.wait()
        time.sleep(1000)


def numbers() -> Iterator[int]:
    for number in range(10**9):
        wait(STEPS if busy.is_set() else 0)
        yield number


def produce() -> None:
    for number in numbers():
        produced.append(number)
        time.sleep(0.001)


def train() -> None:
    blocks = [Block(), Layer()]
    for number in range(STEPS + 1):
        for block in blocks:
            block.forward(number if block is blocks[1] else 0)
        graph.step()
        if number == STEPS - 1:
            busy.set()
            while not ready.n_waiting:
                time.sleep(0.001)


produced: list[int] = []
busy = threading.Event()
threading.Thread(target=lambda: ready.wait() and None, daemon=True).start()
with fastdispatch.CallGraph(sys.argv[1], ops="off", budget=1e-9, calls=sys.argv[2]) as graph:
    threading.Thread(target=produce, name="producer", daemon=True).start()
    train()
