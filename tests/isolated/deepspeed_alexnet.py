"""AlexNet as a DeepSpeed pipeline of two stages, trained on random pictures. Argument: run directory.

Ranks are processes with RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT, over gloo.
"""

from __future__ import annotations

import os
import sys

os.environ.setdefault("DS_ACCELERATOR", "cpu")
os.environ.setdefault("LOCAL_RANK", os.environ["RANK"])

import deepspeed
import torch
from torch import nn
from torch.utils.data import Dataset

import fastdispatch

STAGES, ITERATIONS, MICRO_BATCHES, MICRO_BATCH = 2, 3, 4, 2


class Pictures(Dataset):
    def __len__(self) -> int:
        return 64

    def __getitem__(self, index: int) -> tuple[torch.Tensor, torch.Tensor]:
        generator = torch.Generator().manual_seed(index)
        return torch.randn(3, 63, 63, generator=generator), torch.tensor(index % 10)


def alexnet() -> list[nn.Module]:
    features = [nn.Conv2d(3, 64, 11, stride=4, padding=2), nn.ReLU(), nn.MaxPool2d(3, 2, ceil_mode=True)]
    features += [nn.Conv2d(64, 192, 5, padding=2), nn.ReLU(), nn.MaxPool2d(3, 2, ceil_mode=True)]
    features += [nn.Conv2d(192, 384, 3, padding=1), nn.ReLU(), nn.Conv2d(384, 256, 3, padding=1), nn.ReLU()]
    features += [nn.Conv2d(256, 256, 3, padding=1), nn.ReLU(), nn.MaxPool2d(3, 2, ceil_mode=True)]
    classifier = [nn.Dropout(), nn.Linear(256 * 36, 256), nn.ReLU(), nn.Dropout(), nn.Linear(256, 256), nn.ReLU()]
    return [*features, nn.AdaptiveAvgPool2d((6, 6)), nn.Flatten(), *classifier, nn.Linear(256, 10)]


def main() -> None:
    torch.set_num_threads(1)
    deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False  # avoids its compilation
    deepspeed.init_distributed(dist_backend="gloo")
    model = deepspeed.pipe.PipelineModule(
        layers=alexnet(),
        loss_fn=nn.CrossEntropyLoss(),
        num_stages=STAGES,
        partition_method="parameters",
        activation_checkpoint_interval=0,
    )
    config = {
        "train_batch_size": MICRO_BATCH * MICRO_BATCHES,
        "train_micro_batch_size_per_gpu": MICRO_BATCH,
        "optimizer": {"type": "Adam", "params": {"lr": 1e-4, "torch_adam": True}},
        "steps_per_print": 1000,
    }
    engine, _, _, _ = deepspeed.initialize(
        model=model, model_parameters=model.parameters(), training_data=Pictures(), config=config
    )
    with fastdispatch.CallGraph(sys.argv[1]):
        for _ in range(ITERATIONS):
            engine.train_batch()


main()
