"""Three ranks on gloo: two steps of a minimal network, recorded by fastdispatch and PyTorch's observer, then each kind
of communication once, on two groups, recorded by fastdispatch. Usage: et_ranks.py FOLDER"""

import atexit
import os
import sys
import time

import torch
import torch.distributed as dist

import fastdispatch

RANKS = 3
STEPS = 2


def train(rank: int, folder: str) -> None:
    network = torch.nn.Sequential(torch.nn.Linear(10, 5), torch.nn.ReLU(), torch.nn.Linear(5, 1))
    model = torch.nn.parallel.DistributedDataParallel(network)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def step() -> None:
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(torch.randn(20, 10)), torch.randn(20, 1)).backward()
        optimizer.step()

    step()
    observer = torch.profiler.ExecutionTraceObserver()
    observer.register_callback(f"{folder}/theirs_{rank}.json")
    with fastdispatch.CallGraph(f"{folder}/run", et=True):
        observer.start()
        for _ in range(STEPS):
            step()
        time.sleep(0.3)  # a thread of gloo may still be running after the wait
        observer.stop()
    observer.unregister_callback()


def communicate(rank: int, pair: dist.ProcessGroup) -> None:
    """``pair`` has ranks 1 and 2 as members 0 and 1."""
    x = torch.full((4, 3), float(rank))
    parts = [torch.empty(4, 3) for _ in range(RANKS)]
    dist.all_reduce(x)
    dist.broadcast(x, src=1)
    dist.reduce(x, dst=2)
    dist.all_gather(parts, x)
    dist.gather(x, parts if rank == 0 else None, dst=0)
    dist.scatter(x, parts if rank == 1 else None, src=1)
    # Each rank sends 1, 2 and 3 rows to ranks 0, 1 and 2.
    dist.all_to_all_single(torch.empty(3 * (rank + 1), 2), torch.ones(6, 2), [rank + 1] * RANKS, [1, 2, 3])
    dist.barrier()
    if rank == 0:
        dist.send(torch.ones(5, dtype=torch.int64), dst=1, tag=3)
    if rank == 1:
        dist.recv(torch.empty(5, dtype=torch.int64), src=0, tag=3)
    if rank > 0:
        dist.all_reduce(torch.ones(7, dtype=torch.float64), group=pair)
        message = torch.ones(2, 2)
        work = dist.isend(message, dst=2, group=pair) if rank == 1 else dist.irecv(message, src=1, group=pair)
        assert work is not None
        work.wait()


def main(folder: str) -> None:
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    train(rank, folder)
    pair = dist.new_group([1, 2])
    with fastdispatch.CallGraph(f"{folder}/comms", et=True):
        communicate(rank, pair)
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1])
    # gloo's threads can abort a process that finalizes the interpreter.
    atexit._run_exitfuncs()
    sys.stdout.flush()
    os._exit(0)
