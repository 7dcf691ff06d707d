"""DeepSpeed's ZeRO, stage in the variable STAGE, two micro-batches per step."""

import os

import deepspeed
import torch

STEPS = 8


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.blocks = torch.nn.ModuleList(torch.nn.Linear(16, 16) for _ in range(3))
        self.head = torch.nn.Linear(16, 1)

    def forward(self, batch: torch.Tensor) -> torch.Tensor:
        for block in self.blocks:
            batch = torch.nn.functional.gelu(block(batch))
        return self.head(batch).square().mean()


def main() -> None:
    deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False  # it would be compiled at start
    deepspeed.init_distributed(dist_backend="gloo")
    torch.manual_seed(0)
    model = Net()
    world = int(os.environ.get("WORLD_SIZE", "1"))
    settings = {
        "train_micro_batch_size_per_gpu": 2,
        "gradient_accumulation_steps": 2,
        "train_batch_size": 4 * world,
        "optimizer": {"type": "Adam", "params": {"lr": 0.01, "torch_adam": True}},
        "zero_optimization": {"stage": int(os.environ["STAGE"])},
    }
    engine, *_ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config=settings)
    torch.manual_seed(engine.global_rank)
    for _ in range(2 * STEPS):
        loss = engine(torch.randn(2, 16))
        engine.backward(loss)
        engine.step()
        print(f"loss {loss.item().hex()}\n", end="", flush=True)  # one write: ranks share the pipe


if __name__ == "__main__":
    main()
