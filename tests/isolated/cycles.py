"""Recordings opened and closed in a loop while threads run operators forward and backward.

Usage: cycles.py CYCLES OPTION=VALUE...   Options of CallGraph; `schedule=N`: each recording has N steps, of which every
second one is recorded. Prints the number of training steps of the threads.
"""

import sys
import threading
from typing import Any

import torch

import fastdispatch

THREADS = 8


def train(stop: threading.Event, rounds: list[int], at: int) -> None:
    torch.manual_seed(at)
    model = torch.nn.Sequential(*(torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU()) for _ in range(20)))
    while not (rounds[at] and stop.is_set()):
        model.zero_grad()
        model(torch.ones(2, 4)).sum().backward()  # most operators of the backward pass run without the GIL
        rounds[at] += 1


def cycle(windows: int, options: dict[str, Any]) -> None:
    schedule = (lambda step: 2 * (step % 2)) if windows else None
    with fastdispatch.CallGraph(schedule=schedule, **options) as graph:
        for _ in range(windows):
            graph.step()
        torch.ones(1)
    assert graph.stats()["contexts"] > 0


def main() -> None:
    cycles = int(sys.argv[1])
    options: dict[str, Any] = {"out": None, "ops": "record"}
    for argument in sys.argv[2:]:
        name, _, value = argument.partition("=")
        options[name] = int(value) if value.isdigit() else value
    windows = options.pop("schedule", 0)
    stop = threading.Event()
    rounds = [0] * THREADS
    threads = [threading.Thread(target=train, args=(stop, rounds, at)) for at in range(THREADS)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(cycles):
            cycle(windows, options)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert all(rounds), rounds
    print("rounds", sum(rounds))


if __name__ == "__main__":
    main()
