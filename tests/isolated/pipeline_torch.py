"""Pipelines of torch.distributed.pipelining: two batches trained, one evaluated. Arguments: folder, names of schedules.

Each schedule has a run directory of its name in the folder. Rank r of W has one stage in schedules with one stage per
rank, stages r and 2W-1-r in V-shaped schedules, and r and r+W in others. Ranks are processes with RANK, WORLD_SIZE,
MASTER_ADDR and MASTER_PORT, over gloo.
"""

import json
import os
import sys

import torch
import torch.distributed as dist
from identities import identities
from sleeping import with_sleep
from torch import nn
from torch.distributed.pipelining import PipelineStage, schedules
from torch.distributed.pipelining.schedules import PipelineScheduleMulti, PipelineScheduleSingle, get_schedule_class
from torch.distributed.pipelining.stage import _PipelineStageBase

import fastdispatch

ITERATIONS, MICRO_BATCHES, MICRO_BATCH, WIDTH = 2, 4, 2, 16
V_SHAPED = ("ZBVZeroBubble", "DualPipeV")
ENGINE = (schedules, PipelineScheduleSingle, PipelineScheduleMulti, _PipelineStageBase)


def stages_of(name: str, rank: int, world: int) -> list[int]:
    if issubclass(get_schedule_class(name), PipelineScheduleSingle):
        return [rank]
    return [rank, 2 * world - 1 - rank if name in V_SHAPED else rank + world]


def schedule_of(name: str, rank: int, world: int) -> tuple[object, list[int], int]:
    held = stages_of(name, rank, world)
    count = world * len(held)
    stages = []
    for index in held:
        torch.manual_seed(index)
        part = with_sleep(nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU()))
        stages.append(PipelineStage(part, index, count, torch.device("cpu")))
    kind = get_schedule_class(name)
    loss = nn.MSELoss()
    return kind(stages[0] if len(stages) == 1 else stages, MICRO_BATCHES, loss_fn=loss), held, count


def batch(schedule: object, held: list[int], count: int, method: str = "step") -> float | None:
    inputs = torch.randn(MICRO_BATCHES * MICRO_BATCH, WIDTH, generator=torch.Generator().manual_seed(1))
    losses: list[torch.Tensor] = []
    last = {"target": inputs, "losses": losses} if count - 1 in held else {}
    getattr(schedule, method)(*([inputs] if 0 in held else []), **last)
    return float(sum(losses)) if losses else None


def main() -> None:
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    before = identities(*ENGINE)
    for name in sys.argv[2:]:
        schedule, held, count = schedule_of(name, rank, world)
        with fastdispatch.CallGraph(os.path.join(sys.argv[1], name), jobs=True, max_mb=32):
            losses = [batch(schedule, held, count) for _ in range(ITERATIONS)]
            if len(held) == 1:
                losses.append(batch(schedule, held, count, "eval"))
        order = getattr(schedule, "pipeline_order_with_comms", {}).get(rank, [])
        same = before == identities(*ENGINE)
        print(json.dumps({"schedule": name, "losses": losses, "order": [str(each) for each in order], "same": same}))
    dist.destroy_process_group()


main()
