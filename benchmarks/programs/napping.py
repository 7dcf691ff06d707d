"""One of two ranks on gloo that train, of which the second sleeps in each step; eight steps are recorded for execution
traces. Usage: napping.py FOLDER RANK MILLISECONDS"""

import sys
import time

import torch
import torch.distributed as dist

import fastdispatch

folder, rank, nap = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]) / 1e3
torch.set_num_threads(1)
dist.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=2)
layers = [torch.nn.Linear(256, 256) for _ in range(4)]
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(*layers))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x = torch.randn(64, 256)


def step() -> None:
    optimizer.zero_grad()
    with torch.profiler.record_function("nap"):
        time.sleep(nap * rank)
    model(x).square().mean().backward()
    optimizer.step()


for _ in range(3):
    step()
with fastdispatch.CallGraph(f"{folder}/run", et=True):
    for number in range(8):
        with torch.profiler.record_function(f"ProfilerStep#{number}"):
            step()
dist.destroy_process_group()
