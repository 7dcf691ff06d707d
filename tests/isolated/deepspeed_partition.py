"""A DeepSpeed pipeline whose slow layers have few parameters: cut by parameters, recorded, and cut by time.

Arguments: run directory, and number of timings of both (default: 0). Ranks are processes with RANK, WORLD_SIZE,
MASTER_ADDR and MASTER_PORT, over gloo. The last line of the output is JSON.
"""

import json
import os
import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("DS_ACCELERATOR", "cpu")
os.environ.setdefault("LOCAL_RANK", os.environ["RANK"])

import deepspeed
import torch
from deepspeed.pipe import LayerSpec, PipelineModule
from torch import nn

import fastdispatch
from fastdispatch.pipeline import partition, with_parts

STAGES, MICRO_BATCHES, STEPS = 2, 4, 5


class Nap(torch.autograd.Function):
    """A layer that sleeps: equally slow on a busy and an idle machine."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, seconds: float) -> torch.Tensor:
        ctx.seconds = seconds
        time.sleep(seconds)
        return x.clone()

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> tuple[torch.Tensor, None]:
        time.sleep(2 * ctx.seconds)
        return grads[0], None


class Dear(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(256))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return Nap.apply(x * self.weight, 0.004)


def dearer(x: torch.Tensor) -> torch.Tensor:
    return Nap.apply(x, 0.014)


def layers() -> list[Any]:
    """Five layers of 256 parameters and 12 ms, a function of 42 ms, three layers of 65 792 parameters and no time."""
    return [*(LayerSpec(Dear) for _ in range(5)), dearer, *(LayerSpec(nn.Linear, 256, 256) for _ in range(3))]


def batches() -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    generator = torch.Generator().manual_seed(0)
    while True:
        yield torch.randn(2, 256, generator=generator), torch.randn(2, 256, generator=generator)


def make(module: type[PipelineModule]) -> Any:
    model = module(
        layers=layers(),
        loss_fn=nn.MSELoss(),
        num_stages=STAGES,
        partition_method="parameters",
        seed_layers=True,
        seed_fn=torch.manual_seed,
        activation_checkpoint_interval=0,
    )
    config = {
        "train_batch_size": 2 * MICRO_BATCHES,
        "train_micro_batch_size_per_gpu": 2,
        "optimizer": {"type": "SGD", "params": {"lr": 1e-3}},
        "steps_per_print": 1000000,
    }
    return deepspeed.initialize(model=model, model_parameters=model.parameters(), config=config)[0]


def train(engine: Any, steps: int = STEPS) -> list[float]:
    data = batches()
    return [float(engine.train_batch(data)) for _ in range(steps)]


def milliseconds(engine: Any) -> float:
    torch.distributed.barrier()
    begin = time.perf_counter()
    train(engine, 5)
    return (time.perf_counter() - begin) * 1000 / 5


def main() -> None:
    folder, rounds = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False  # avoids its compilation
    deepspeed.init_distributed(dist_backend="gloo")
    before = make(PipelineModule)
    with fastdispatch.CallGraph(folder / "before"):
        losses = train(before)
    torch.distributed.barrier()  # both recordings exist
    parts = partition(layers(), STAGES, "profile", weights=folder / "before")
    after = make(with_parts(PipelineModule, parts))
    with fastdispatch.CallGraph(folder / "after"):
        again = train(after)
    found = {
        "before": list(map(int, before.module.parts)),
        "after": after.module.parts,
        "losses": [losses, again],
        "loaded": sorted(name for name, _ in after.module.named_children() if name.isdecimal()),
    }
    if rounds:
        times = [(milliseconds(before), milliseconds(after)) for _ in range(rounds)]
        found["ms"] = times
        found["medians"] = [statistics.median(column) for column in zip(*times, strict=True)]
    print(json.dumps(found))


main()
