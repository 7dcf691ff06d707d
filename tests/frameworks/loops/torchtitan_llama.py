"""torchtitan's trainer: a small Llama 3, fully sharded or with pipeline stages, on generated tokens.

torchtitan requires an accelerator. The CPU stands in for it: a module with the functions of ``torch.cuda`` that the
trainer calls.
"""

import os
import sys
from dataclasses import replace
from types import SimpleNamespace

import torch
from torch.distributed.fsdp import FSDPModule

STEPS = 6
STAGES = {
    "sharded": [],
    "pipeline": [
        "--parallelism.pipeline-parallel-degree=2",
        "--parallelism.pipeline-parallel-schedule=1F1B",
        "--training.local-batch-size=4",
    ],
}


class Device(SimpleNamespace):
    """The CPU as a device module."""

    def __init__(self) -> None:
        nothing = dict.fromkeys(("set_device", "reset_peak_memory_stats", "empty_cache", "synchronize"), self._nothing)
        super().__init__(**nothing)

    @staticmethod
    def _nothing(*_: object) -> None:
        pass

    def current_device(self) -> int:
        return 0

    def get_device_name(self, _: object) -> str:
        return "CPU"

    def get_device_properties(self, _: object) -> SimpleNamespace:
        return SimpleNamespace(total_memory=1 << 30)

    def memory_stats(self, _: object) -> dict[str, int]:
        names = ("active_bytes.all.peak", "reserved_bytes.all.peak", "num_alloc_retries", "num_ooms")
        return dict.fromkeys(names, 0)


sys.argv[1:] = [
    "--model.name=small",
    "--model.flavor=small",
    f"--training.steps={STEPS}",
    "--training.seq-len=32",
    "--training.local-batch-size=2",
    "--metrics.log-freq=1",
    "--lr-scheduler.warmup-steps=0",
    "--debug.seed=1",
    "--job.dump-folder=titan",
    *STAGES[os.environ["STAGE"]],
]

torch._utils._get_available_device_type = lambda: "cpu"
torch._utils._get_device_module = lambda _type: Device()

from torchtitan.components.dataloader import ParallelAwareDataloader  # noqa: E402  (reads device and arguments)
from torchtitan.components.metrics import MetricsProcessor  # noqa: E402
from torchtitan.models import llama3  # noqa: E402
from torchtitan.protocols import train_spec  # noqa: E402
from torchtitan.train import Trainer, main  # noqa: E402


class Tokens(torch.utils.data.IterableDataset):  # type: ignore[type-arg]
    """Endless numbers that count up, as tokens."""

    def __iter__(self):  # type: ignore[no-untyped-def]
        while True:
            for first in range(64):
                tokens = (torch.arange(first, first + 33) * 7) % 64
                yield {"input": tokens[:-1]}, tokens[1:]


def loader(dp_world_size: int, dp_rank: int, job_config: object, **_: object) -> ParallelAwareDataloader:
    batch = job_config.training.local_batch_size  # type: ignore[attr-defined]
    return ParallelAwareDataloader(Tokens(), dp_rank, dp_world_size, batch_size=batch)


def parallelize(model: torch.nn.Module, *rest: object, **more: object) -> torch.nn.Module:
    """Split the model as torchtitan does. gloo has no sum of multiplied gradients."""
    made = llama3.parallelize_llama(model, *rest, **more)  # type: ignore[arg-type]
    for module in made.modules():
        if isinstance(module, FSDPModule):
            module.set_force_sum_reduction_for_comms(True)
    return made


class Processor(MetricsProcessor):
    """Print each loss as a number that can be compared."""

    def log(self, step: int, global_avg_loss: float, *rest: object, **more: object) -> None:
        print(f"loss {float(global_avg_loss).hex()}\n", end="", flush=True)  # one write: ranks share the pipe
        super().log(step, global_avg_loss, *rest, **more)  # type: ignore[arg-type]


train_spec.register_train_spec(
    "small",
    replace(
        llama3.get_train_spec(),
        model_args={"small": llama3.TransformerModelArgs(dim=32, n_layers=2, n_heads=4, vocab_size=64)},
        parallelize_fn=parallelize,
        build_dataloader_fn=loader,
        build_tokenizer_fn=None,
        build_metrics_processor_fn=Processor,
    ),
)

if __name__ == "__main__":
    main(Trainer)
