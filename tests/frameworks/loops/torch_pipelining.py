"""Two stages of torch.distributed.pipelining under 1F1B, with an optimizer on each rank."""

import torch
import torch.distributed as dist
from torch.distributed.pipelining import PipelineStage
from torch.distributed.pipelining.schedules import Schedule1F1B

STEPS, MICRO_BATCHES, WIDTH = 6, 4, 16


class Part(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(WIDTH, WIDTH)

    def forward(self, batch: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.layer(batch))


def main() -> None:
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(rank)
    part = Part()
    optimizer = torch.optim.SGD(part.parameters(), lr=0.1)
    stage = PipelineStage(part, rank, world, torch.device("cpu"))
    schedule = Schedule1F1B(stage, MICRO_BATCHES, loss_fn=torch.nn.MSELoss())
    inputs = torch.randn(2 * MICRO_BATCHES, WIDTH, generator=torch.Generator().manual_seed(1))
    for _ in range(STEPS):
        losses: list[torch.Tensor] = []
        if rank == 0:
            schedule.step(inputs)
        else:
            schedule.step(target=inputs, losses=losses)
        optimizer.step()
        optimizer.zero_grad()
        if losses:
            print("loss", torch.stack(losses).sum().item().hex(), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
