"""Trainings as new users write them, each with a planted fault: ``first_users.py NAME STEPS OUT`` records itself."""

import sys
import time
from typing import Any

import torch
import torch.distributed as dist
from torch import nn

from fastdispatch import cli


def wide() -> nn.Sequential:
    return nn.Sequential(nn.Linear(192, 192), nn.ReLU(), nn.Linear(192, 192), nn.ReLU(), nn.Linear(192, 8))


def step(model: nn.Module, optimizer: torch.optim.Optimizer, x: torch.Tensor) -> None:
    optimizer.zero_grad()
    model(x).square().mean().backward()
    optimizer.step()


def sgd(model: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.SGD(model.parameters(), 1e-3)


class Tokens(torch.utils.data.Dataset):
    def __len__(self) -> int:
        return 1000

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:  # here: huggingface
        time.sleep(0.02)
        row = torch.arange(16) % 7
        return {"input_ids": row, "labels": row}


def huggingface(steps: int) -> None:
    from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainingArguments

    size = {"hidden_size": 32, "intermediate_size": 64, "vocab_size": 64}
    config = LlamaConfig(num_hidden_layers=1, num_attention_heads=2, **size)
    names = {"output_dir": sys.argv[3], "save_strategy": "no", "report_to": [], "disable_tqdm": True}
    arguments = TrainingArguments(max_steps=steps, per_device_train_batch_size=2, use_cpu=True, **names)
    Trainer(LlamaForCausalLM(config), arguments, train_dataset=Tokens()).train()


def augment(x: torch.Tensor) -> torch.Tensor:  # here: data_parallel
    time.sleep(0.03)
    return x


def data_parallel(steps: int) -> None:
    model = nn.parallel.DistributedDataParallel(wide())
    optimizer, x = sgd(model), torch.randn(64, 192)
    for _ in range(steps):
        step(model, optimizer, augment(x) if dist.get_rank() else x)


def lightning(steps: int) -> None:
    import lightning

    class Model(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.net = wide()

        def training_step(self, batch: Any) -> torch.Tensor:
            out = self.net(batch)
            self.total = sum(row.item() for row in out[:, 0])  # here: lightning
            return out.square().mean()

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return sgd(self)

    options: dict[str, Any] = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False}
    trainer = lightning.Trainer(max_steps=steps, accelerator="cpu", enable_model_summary=False, **options)
    trainer.fit(Model(), torch.utils.data.DataLoader([torch.randn(2048, 192)] * steps, batch_size=None))


class Talking(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = wide()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.net[:2](x)
        torch._dynamo.graph_break()  # here: compiled
        return self.net[2:](x)


def compiled(steps: int) -> None:
    model = torch.compile(Talking(), backend="eager")
    optimizer, x = sgd(model), torch.randn(64, 192)
    for _ in range(steps):
        step(model, optimizer, x)


def fully_sharded(steps: int) -> None:
    from torch.distributed.fsdp import fully_shard

    net = wide()
    for layer in (net[0], net[2]):
        fully_shard(layer)
    model = fully_shard(net)
    optimizer, x = sgd(model), torch.randn(4096 if dist.get_rank() else 64, 192)
    for _ in range(steps):
        for _ in range(4):
            model(x).square().mean().backward()  # here: fully_sharded
        optimizer.step()
        optimizer.zero_grad()


def wait_for_checkpoint() -> None:
    time.sleep(600)  # here: hang


def hang(steps: int) -> None:
    model = wide()
    optimizer, x = sgd(model), torch.randn(64, 192)
    for number in range(steps):
        step(model, optimizer, x)
        if number == steps - 1 and dist.get_rank() == 1:
            wait_for_checkpoint()
        dist.all_reduce(torch.ones(8))


CELLS = (
    "model, x = wide(), torch.randn(64, 192)\noptimizer = sgd(model)\nlosses = []",
    "def log_loss(loss):\n    time.sleep(0.02)\n    losses.append(loss.item())",
    "for _ in range(steps):\n    step(model, optimizer, x)\n    log_loss(model(x).square().mean())",
)


def notebook(steps: int) -> None:
    space = globals() | {"steps": steps}
    for number, cell in enumerate(CELLS):
        exec(compile(cell, f"/tmp/ipykernel_1/428070260{number}.py", "exec"), space)


def main() -> None:
    steps = int(sys.argv[2])  # no read of a tensor
    torch.set_num_threads(1)
    if sys.argv[1] in ("data_parallel", "fully_sharded", "hang"):
        dist.init_process_group("gloo")
    globals()[sys.argv[1]](steps)
    if dist.is_initialized():
        dist.destroy_process_group()


if __name__ == "__main__":
    if "OUT" in sys.argv[3:]:
        main()
    else:
        name, count, out = sys.argv[1:]
        sys.exit(cli.main(["run", "-q", "-o", out, __file__, name, count, out, "OUT"]))
