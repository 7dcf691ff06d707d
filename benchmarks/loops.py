"""Training loops of frameworks, small enough that recording shows: each maker returns a function that trains."""

import os
import tempfile
from collections.abc import Callable

import torch

from benchmarks import training

Train = Callable[[], object]

_STEPS = 600


def short_steps() -> Train:
    _, step = training.model_and_step(batch=1, context=16, width=32, heads=2)

    def train() -> None:
        for _ in range(_STEPS):
            step()

    return train


def ddp() -> Train:
    torch.distributed.init_process_group("gloo")
    model, _ = training.model_and_step(batch=1, context=16, width=32, heads=2)
    wrapped = torch.nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.AdamW(wrapped.parameters(), lr=3e-4)
    tokens = torch.randint(0, 64, (1, 16))

    def train() -> None:
        for _ in range(_STEPS):
            training.pretrain.train_step(wrapped, optimizer, tokens, tokens)

    return train


def trainer() -> Train:
    import transformers

    config = transformers.GPT2Config(n_layer=2, n_head=2, n_embd=32, n_positions=16, vocab_size=64)
    model = transformers.GPT2LMHeadModel(config)
    data = [{"input_ids": row, "labels": row} for row in torch.arange(2 * _STEPS * 16).reshape(-1, 16) % 64]
    options = {"max_steps": _STEPS, "per_device_train_batch_size": 2, "use_cpu": True, "disable_tqdm": True}

    def train() -> None:
        with tempfile.TemporaryDirectory(prefix="fastdispatch-bench-") as folder:
            arguments = transformers.TrainingArguments(
                output_dir=folder, save_strategy="no", report_to=[], logging_strategy="no", **options
            )
            transformers.Trainer(model, arguments, train_dataset=data).train()

    transformers.utils.logging.set_verbosity_error()
    return train


def lightning() -> Train:
    import lightning

    class Regression(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.body = torch.nn.Sequential(*(torch.nn.Linear(32, 32) for _ in range(8)), torch.nn.Linear(32, 1))

        def training_step(self, batch: torch.Tensor) -> torch.Tensor:
            return self.body(batch).square().mean()

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return torch.optim.AdamW(self.parameters(), lr=0.01)

    quiet = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False}
    batches = torch.utils.data.DataLoader(torch.randn(4 * _STEPS, 32), batch_size=4)

    def train() -> None:
        fit = lightning.Trainer(accelerator="cpu", max_epochs=1, enable_model_summary=False, **quiet)
        fit.fit(Regression(), batches)

    return train


def deepspeed() -> Train:
    import deepspeed

    deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False  # it would be compiled at start
    os.environ |= {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "0"}
    deepspeed.init_distributed(dist_backend="gloo")
    model = torch.nn.Sequential(*(torch.nn.Linear(32, 32) for _ in range(16)), torch.nn.Linear(32, 1))
    settings = {
        "train_batch_size": 4,
        "optimizer": {"type": "Adam", "params": {"lr": 0.01, "torch_adam": True}},
        "zero_optimization": {"stage": 1},
    }
    engine, *_ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config=settings)
    batch = torch.randn(4, 32)

    def train() -> None:
        for _ in range(_STEPS):
            engine.backward(engine(batch).square().mean())
            engine.step()

    return train


LOOPS: dict[str, Callable[[], Train]] = {
    f"{_STEPS} short steps": short_steps,
    f"DDP on two ranks, {_STEPS} steps": ddp,
    f"Hugging Face Trainer, {_STEPS} steps": trainer,
    f"Lightning, {_STEPS} steps": lightning,
    f"DeepSpeed ZeRO-1, {_STEPS} steps": deepspeed,
}
