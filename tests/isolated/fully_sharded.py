"""Eight steps with fully_shard on two ranks of gloo, started by torchrun. Prints the loss of each step."""

import gc

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.Sequential(*(nn.Linear(16, 16) for _ in range(3)))
        self.head = nn.Linear(16, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.blocks(x).tanh())


def train() -> None:
    torch.manual_seed(0)
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    model = Net()
    for part in (*model.blocks, model):
        fully_shard(part, mesh=mesh)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(8):
        loss = model(torch.randn(4, 16)).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print(f"loss {loss.item().hex()}\n", end="", flush=True)  # one write: ranks share the pipe


def main() -> None:
    dist.init_process_group("gloo")
    train()
    gc.collect()  # the modules hold the group: a gloo thread alive at the end of Python can abort the process
    dist.destroy_process_group()


main()
