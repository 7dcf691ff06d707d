"""Train a compiled step with callbacks of the user, recorded or not; print the number of frames that Dynamo traced.

Usage: compiled_callbacks.py plain|frame|monitor
"""

import sys

import torch
import torch._dynamo
import torch._dynamo.utils

import fastdispatch

[calls] = sys.argv[1:]
windows: list[object] = []


def schedule(step: int) -> int:
    return 3 * (step % 2 == 0)


def keep(key: str) -> bool:
    return not key.endswith("nothing")


def train() -> None:
    model = torch.nn.Linear(4, 4)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)

    def step(x: torch.Tensor) -> torch.Tensor:
        optimizer.zero_grad()
        loss = model(x).sum()
        loss.backward()
        optimizer.step()
        return loss

    compiled = torch.compile(step, backend="eager")
    for _ in range(5):
        compiled(torch.ones(2, 4))


if calls == "plain":
    train()
else:
    with fastdispatch.CallGraph(None, calls=calls, schedule=schedule, keep=keep, on_trace_ready=windows.append):
        train()
    assert windows
print(torch._dynamo.utils.counters["frames"]["total"])
