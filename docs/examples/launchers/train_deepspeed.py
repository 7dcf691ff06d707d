"""Five steps with DeepSpeed ZeRO."""

import deepspeed
import torch

deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False  # built at the start, which takes a minute
deepspeed.init_distributed("gloo")
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Linear(8, 1))
config = {
    "train_batch_size": 8,
    "optimizer": {"type": "Adam", "params": {"lr": 0.01, "torch_adam": True}},
    "zero_optimization": {"stage": 1},
}
engine, *_ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config=config)
for _ in range(5):
    loss = engine(torch.ones(4, 8)).square().mean()
    engine.backward(loss)
    engine.step()
print(f"rank {engine.global_rank}: loss {loss.item()!r}\n", end="", flush=True)
