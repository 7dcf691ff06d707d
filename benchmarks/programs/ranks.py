"""A small transformer on the ranks of gloo. Arguments: ddp, fsdp or pipeline; the number of layers."""

import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.pipelining import PipelineStage, ScheduleGPipe

WIDTH, BATCH, STEPS, MICRO_BATCHES = 16, 4, 8, 2


def layer() -> nn.Module:
    return nn.TransformerEncoderLayer(WIDTH, 2, 2 * WIDTH, dropout=0.0, batch_first=True)


def train(model: nn.Module) -> None:
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(STEPS):
        optimizer.zero_grad()
        model(torch.randn(BATCH, 8, WIDTH)).square().mean().backward()
        optimizer.step()


def train_stages(stage: nn.Module) -> None:
    """Train with one stage per rank."""
    rank, world = dist.get_rank(), dist.get_world_size()
    part = PipelineStage(stage, rank, world, torch.device("cpu"))
    schedule = ScheduleGPipe(part, MICRO_BATCHES, loss_fn=nn.functional.mse_loss)
    optimizer = torch.optim.AdamW(stage.parameters())
    batch = torch.randn(BATCH, 8, WIDTH)
    for _ in range(STEPS):
        optimizer.zero_grad()
        schedule.step(*([batch] if rank == 0 else []), **({"target": batch} if rank == world - 1 else {}))
        optimizer.step()


def main(kind: str, layers: int) -> None:
    torch.manual_seed(0)
    dist.init_process_group("gloo")
    count = layers // dist.get_world_size() if kind == "pipeline" else layers
    model = nn.Sequential(*(layer() for _ in range(count)))
    if kind == "pipeline":
        train_stages(model)
    elif kind == "ddp":
        train(nn.parallel.DistributedDataParallel(model))
    else:
        mesh = init_device_mesh("cpu", (dist.get_world_size(),))
        for part in (*model, model):
            fully_shard(part, mesh=mesh)
        train(model)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
