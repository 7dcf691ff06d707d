"""Edges of windows inside compiled regions: training steps compiled as a whole, including the step of the optimizer.

Usage: compiled_edges.py FOLDER OPS EDGE   OPS is record, dispatch, or off (no recording). Prints one JSON object: the
losses, the number of compilations, and the number of runs of compiled code.
"""

import ctypes
import json
import sys
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import torch

import fastdispatch

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests import standin

folder, ops, edge = Path(sys.argv[1]), *sys.argv[2:]
compiled = runs = 0


def backend(module: torch.fx.GraphModule, inputs: object) -> Callable[..., object]:
    global compiled
    compiled += 1

    def run(*arguments: object) -> object:
        global runs
        runs += 1
        return module.forward(*arguments)

    return run


torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
graph: fastdispatch.CallGraph | None = None
steps = 0


@torch.compiler.disable
def end_of_step() -> None:
    """Called by the compiled code: ends a step of the recording inside a compiled region."""
    global steps
    steps += 1
    if graph is None:
        return
    if edge == "switch":
        switch = Path(f"{graph.path}.off")
        switch.touch() if steps % 4 == 1 else switch.unlink(missing_ok=True)
    if edge == "restart" and steps % 4 == 0:
        graph.stop()
        begin()
    elif edge != "optimizer":
        graph.step()


@torch.compile(backend=backend)
def train(x: torch.Tensor) -> torch.Tensor:
    loss = (model(x) ** 2).mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    end_of_step()
    return loss.detach() * 1.0


def options() -> dict[str, Any]:
    if edge == "gpu":
        libraries = standin.build(folder)
        for name in ("libcudart.so.13", "libc10_cuda.so"):
            ctypes.CDLL(str(libraries / name), mode=ctypes.RTLD_GLOBAL)
        torch.cuda.is_initialized = lambda: True
        return {"gpu": "functions"}
    return {"schedule": lambda step: 2 * (step % 2)} if edge in ("schedule", "optimizer") else {}


def begin() -> None:
    global graph
    graph = fastdispatch.CallGraph(folder / "out", ops=ops, **options())
    graph.start()


def iteration(number: int) -> Any:
    if edge == "ranges" and graph is not None:
        return fastdispatch.job_schedule_profiler_range(number, 4, 8, exit_after_prof=False)
    return nullcontext()


if ops != "off":
    begin()
losses = []
for number in range(12):
    with iteration(number):
        losses.append(train(torch.full((3, 4), 0.1 * number)).item())
recorded = 0
if graph is not None:
    graph.stop()
    recorded = graph.stats()["contexts"]
print(json.dumps({"losses": losses, "compiled": compiled, "runs": runs, "recorded": recorded > 10}))
