"""Five steps with Hugging Face Accelerate."""

import torch
from accelerate import Accelerator

accelerator = Accelerator(cpu=True)
torch.manual_seed(0)
model = torch.nn.Linear(8, 1)
model, optimizer = accelerator.prepare(model, torch.optim.SGD(model.parameters(), lr=0.01))
for _ in range(5):
    optimizer.zero_grad()
    loss = model(torch.ones(4, 8)).square().mean()
    accelerator.backward(loss)
    optimizer.step()
print(f"rank {accelerator.process_index}: loss {loss.item()!r}\n", end="", flush=True)
accelerator.end_training()
