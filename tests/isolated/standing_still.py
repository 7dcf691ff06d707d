"""Stand still in an unrecorded step of a budget: one thread in a method, another in a generator.

``standing_still.py OUT SOURCE CALLS``: each step makes this number of calls besides. No function runs for the first
time in the last steps.
"""

import sys
import threading
import time
from collections.abc import Iterator

import fastdispatch

STEPS = 200


class Block:
    def forward(self, number: int) -> None:
        self.block(number)

    def block(self, number: int) -> None:
        wait(number)


class Layer(Block): ...


def wait(number: int) -> None:
    if number == STEPS:
        waiting.append(number)
        time.sleep(1000)


def numbers() -> Iterator[int]:
    for number in range(10**9):
        wait(STEPS if last else 0)
        yield number


def produce() -> None:
    for number in numbers():
        produced.append(number)
        time.sleep(0.001)


def train() -> None:
    for number in range(10):  # other classes
        type(f"Block{number}", (Block,), {})().forward(0)
    blocks = [Block(), Layer()]
    for number in range(STEPS + 1):
        for _ in range(calls):
            wait(0)
        for block in blocks:
            block.forward(number if isinstance(block, Layer) else 0)
        graph.step()
        if number == STEPS - 1:
            last.append(number)
            while not waiting:
                time.sleep(0.001)


def announce() -> None:
    while len(waiting) < 2:
        time.sleep(0.001)
    print("under way", flush=True)


calls = int(sys.argv[3])
produced: list[int] = []
last: list[int] = []
waiting: list[int] = []
threading.Thread(target=announce, daemon=True).start()
with fastdispatch.CallGraph(sys.argv[1], ops="off", budget=1e-9, calls=sys.argv[2]) as graph:
    threading.Thread(target=produce, name="producer", daemon=True).start()
    train()
