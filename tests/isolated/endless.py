"""Train in nested calls of several threads until killed. Prints a line after the start."""

import os
import sys
import threading

import fastdispatch


def leaf(n: int) -> int:
    return n + 1


def middle(n: int) -> int:
    return sum(leaf(i) for i in range(n % 7))


def work(under_way: threading.Barrier) -> None:
    under_way.wait()
    n = 0
    while True:
        n += 1
        middle(n)


def train() -> None:
    import torch

    model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    steps = 0
    while True:
        optimizer.zero_grad()
        model(torch.ones(4, 8)).sum().backward()
        optimizer.step()
        steps += 1
        if steps == 3:
            print("under way", flush=True)


def main() -> None:
    timeline = os.environ.get("FASTDISPATCH_TEST_TIMELINE", "")
    megabytes = int(os.environ.get("FASTDISPATCH_TEST_MB", "64"))
    fastdispatch.CallGraph(sys.argv[1], timeline=timeline == "1" or timeline or False, max_mb=megabytes).start()
    if sys.argv[2] == "train":
        train()
    under_way = threading.Barrier(2, action=lambda: print("under way", flush=True))
    threading.Thread(target=work, args=(under_way,), daemon=True, name="worker").start()
    work(under_way)


main()
