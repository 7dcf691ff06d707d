"""One rank of a gloo group that gathers: FOLDER RANK WORLD PORT LIMIT FAULT. The fault is ``killed`` or ``slow`` of
this rank before it stops, or ``none``."""

import os
import signal
import sys
import time
from datetime import timedelta

import torch
import torch.distributed as dist

import fastdispatch

folder, rank, world, port, limit, fault = sys.argv[1], *map(int, sys.argv[2:5]), *sys.argv[5:7]
dist.init_process_group(
    "gloo", init_method=f"tcp://localhost:{port}", rank=rank, world_size=world, timeout=timedelta(seconds=60)
)
with fastdispatch.CallGraph(f"{folder}/host{rank}", gather=float(limit), timeline="python") as graph:
    for _ in range(rank + 1):
        torch.ones(3).add_(rank)
        graph.step()
    dist.barrier()
    if fault == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if fault == "slow":
        time.sleep(float(limit))
