"""One rank of the soak: a deterministic training that is difficult for a recorder.

Usage: trainee.py STEPS FOLDER OPTIONS   OPTIONS is JSON: those of CallGraph, null for no recording. FOLDER/rankN.log
gets a line per step: its number, the loss in hexadecimal, the resident memory in KB.
"""

import json
import os
import signal
import sys
import threading
from pathlib import Path

import torch

import fastdispatch

steps, folder, options = int(sys.argv[1]), Path(sys.argv[2]), json.loads(sys.argv[3])
rank = int(os.environ["RANK"])
signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs of a shell ignore it
sys.setrecursionlimit(200_000)
torch.set_num_threads(1)
torch.manual_seed(rank)


def backend(module: torch.fx.GraphModule, inputs: object) -> object:
    return module.forward


class Block(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = torch.nn.Linear(8, 16), torch.nn.Linear(16, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.second(torch.relu(self.first(x)))


eager, compiled = torch.nn.Sequential(Block(), Block()), torch.compile(Block(), backend=backend)
optimizer = torch.optim.SGD([*eager.parameters(), *compiled.parameters()], lr=1e-3)
side = torch.nn.Linear(4, 4)
ended = threading.Event()


def down(depth: int) -> int:
    return 0 if depth == 0 else 1 + down(depth - 1)


def beside() -> None:
    """Threads that start and end, forward and backward, while windows of the main thread begin and end."""
    while not ended.is_set():
        thread = threading.Thread(target=lambda: side(torch.ones(2, 4)).sum().backward())
        thread.start()
        thread.join()


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4


def step(number: int) -> float:
    x = torch.sin(torch.arange(32.0).reshape(4, 8) + number)
    loss = (compiled(eager(x)) ** 2).mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    if number % 25 == 7:
        down(20_000)
    return loss.item()


def train(log: Path) -> None:
    with log.open("a", encoding="utf-8") as file:
        for number in range(steps):
            print(number, step(number).hex(), resident(), file=file, flush=True)


def schedule_of(period: int) -> object:
    return (lambda number: 2 * (number % period > 0)) if period else None


def main() -> int:
    if options is None:
        train(folder / f"rank{rank}.log")
        return 0
    options["schedule"] = schedule_of(options.pop("period", 0))
    thread = threading.Thread(target=beside)
    graph = fastdispatch.CallGraph(folder / "out", **options)
    try:
        with graph:
            thread.start()
            train(folder / f"rank{rank}.log")
    except KeyboardInterrupt:
        return 130
    finally:
        ended.set()
        if thread.ident is not None:
            thread.join()
    return 0


if __name__ == "__main__":
    sys.exit(main())
