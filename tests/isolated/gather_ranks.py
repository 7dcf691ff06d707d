"""One rank of a gloo group that gathers: FOLDER LIMIT FAULT... Each rank has a fault before it stops: ``killed``,
``slow`` or ``none``."""

import os
import signal
import sys
import time
from datetime import timedelta

import torch
import torch.distributed as dist

import fastdispatch

_, folder, limit, *faults = sys.argv
dist.init_process_group("gloo", timeout=timedelta(seconds=60))
rank = dist.get_rank()
fault = faults[rank]
with fastdispatch.CallGraph(f"{folder}/host{rank}", gather=float(limit), timeline="python") as graph:
    for _ in range(rank + 1):
        torch.ones(3).add_(rank)
        graph.step()
    dist.barrier()
    if fault == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if fault == "slow":
        time.sleep(float(limit))
