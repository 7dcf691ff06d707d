"""A DeepSpeed pipeline of linear layers: two batches trained, one evaluated. Arguments: run directory, stages.

Ranks are processes with RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT, over gloo. The last line of the output has the
state of the engine before and after the recording.
"""

import json
import os
import sys
import time

os.environ.setdefault("DS_ACCELERATOR", "cpu")
os.environ.setdefault("LOCAL_RANK", os.environ["RANK"])

import deepspeed
import torch
from deepspeed.runtime.pipe import p2p
from deepspeed.runtime.pipe.engine import PipelineEngine
from identities import identities
from sleeping import with_sleep
from torch import nn
from torch.utils.data import Dataset

import fastdispatch

ITERATIONS = int(os.environ.get("ITERATIONS", "2"))
MICRO_BATCHES, MICRO_BATCH, WIDTH = 4, 2, 16


class Numbers(Dataset):
    def __len__(self) -> int:
        return 64

    def __getitem__(self, index: int) -> tuple[torch.Tensor, torch.Tensor]:
        generator = torch.Generator().manual_seed(index)
        return torch.randn(WIDTH, generator=generator), torch.tensor(index % 4)


class Slow(nn.Linear):
    """A layer that takes SLOW seconds."""

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        time.sleep(float(os.environ.get("SLOW", "0")))
        return super().forward(input)


def layers() -> list[nn.Module]:
    hidden = [nn.ReLU() if i % 2 else with_sleep(nn.Linear(WIDTH, WIDTH)) for i in range(5)]
    return [*hidden, nn.ReLU(), Slow(WIDTH, 4)]


def main() -> None:
    deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False  # avoids its compilation
    deepspeed.init_distributed(dist_backend="gloo")
    torch.manual_seed(0)
    model = deepspeed.pipe.PipelineModule(
        layers=layers(),
        loss_fn=nn.CrossEntropyLoss(),
        num_stages=int(sys.argv[2]),
        partition_method="type:linear|slow",
        activation_checkpoint_interval=0,
    )
    config = {
        "train_batch_size": MICRO_BATCH * MICRO_BATCHES,
        "train_micro_batch_size_per_gpu": MICRO_BATCH,
        "optimizer": {"type": "Adam", "params": {"lr": 1e-4, "torch_adam": True}},
        "steps_per_print": 1000,
    }
    before = identities(PipelineEngine, p2p), [*PipelineEngine._INSTRUCTION_MAP.items()]
    with fastdispatch.CallGraph(sys.argv[1], jobs=True, max_mb=32) as graph:
        engine, _, _, _ = deepspeed.initialize(
            model=model, model_parameters=model.parameters(), training_data=Numbers(), config=config
        )
        losses = [float(engine.train_batch()) for _ in range(ITERATIONS)]
        data = iter(deepspeed.utils.RepeatingLoader(engine.training_dataloader))
        losses.append(float(engine.eval_batch(data)))
    same = before == (identities(PipelineEngine, p2p), [*PipelineEngine._INSTRUCTION_MAP.items()])
    print(json.dumps({"losses": losses, "same": same, "path": graph.path}))


main()
