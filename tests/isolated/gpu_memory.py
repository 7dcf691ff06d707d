"""A training on the allocator of the stand-in for libc10_cuda, with a failed allocation. Arguments: folder of the
stand-in, run directory, how it ends: ``return``, ``raise``, ``kill``.

Prints, as JSON, the figures of a slow model that adds up all blocks after each event: the peak and the bytes live at a
failed allocation, by part.
"""

import ctypes
import json
import os
import signal
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import torch

import fastdispatch

LIMIT = 80_000_000
EARLIER = 512 * 13_672
FOLDER, RUN, END = sys.argv[1:]
#: The real library is linked with libc10; the stand-in finds it among the global symbols.
ctypes.CDLL(str(Path(torch.__file__).parent / "lib" / "libc10.so"), mode=ctypes.RTLD_GLOBAL)
gpu = ctypes.CDLL(f"{FOLDER}/libc10_cuda.so", mode=ctypes.RTLD_GLOBAL)
gpu.standin_allocate.argtypes = gpu.standin_free.argtypes = [ctypes.c_size_t, ctypes.c_size_t]
gpu.standin_allocate.restype = gpu.standin_peak.restype = gpu.standin_reserved.restype = ctypes.c_size_t

live: dict[int, tuple[str, int]] = {}
found: dict[str, Any] = {"peak": 0, "failures": 0}


def by_part() -> dict[str, int]:
    sums = Counter[str]()
    for part, size in live.values():
        sums[part] += size
    return dict(sums)


def note_level() -> None:
    level = sum(size for _, size in live.values())
    if level > found["peak"]:
        found.update(peak=level, parts=by_part(), reserved=gpu.standin_reserved())


def take(part: str, size: int) -> int:
    address = int(gpu.standin_allocate(size, LIMIT))
    if address == 0:
        found["failures"] += 1
        found.update(requested=size, held=by_part(), held_reserved=gpu.standin_reserved())
        if END == "kill":
            print(json.dumps(found), flush=True)
            os.kill(os.getpid(), signal.SIGKILL)
        raise MemoryError(size)
    live[address] = part, size
    note_level()
    return address


def give(address: int) -> None:
    gpu.standin_free(address, live.pop(address)[1])


class Block(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any, size: int) -> Any:  # type: ignore[override]
        ctx.block = take("activations", size)
        scratch = take("temporary", 512 * 100)
        give(scratch)
        return x.clone()

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:  # type: ignore[override]
        give(ctx.block)
        return grad, None


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(4))
        self.block = take("parameters", 512 * 20_000)

    def forward(self, blocks: int) -> Any:
        x = self.weight
        for _ in range(blocks):
            x = Block.apply(x, 512 * 3000)
        return x.sum()


class Momentum(torch.optim.SGD):
    state_block = 0

    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        if not self.state_block:
            self.state_block = take("optimizer state", 512 * 10_000)
        super().step(closure)


def train_step(model: Net, optimizer: Momentum, blocks: int) -> None:
    optimizer.zero_grad()
    model(blocks).backward()
    optimizer.step()


earlier = [take("not recorded", 512), take("not recorded", EARLIER)]
with fastdispatch.CallGraph(RUN, measure="memory"):
    give(earlier[0])
    net = Net()
    sgd = Momentum(net.parameters(), lr=0.1)
    for step in range(4):
        train_step(net, sgd, 4 + 2 * step)
    try:
        train_step(net, sgd, 100)
    except MemoryError:
        if END == "raise":
            print(json.dumps(found), flush=True)
            raise
    for address in [each for each, (part, _) in live.items() if part == "activations"]:
        give(address)
    train_step(net, sgd, 2)
assert gpu.standin_peak() == found["peak"]
print(json.dumps(found))
