"""Work of a process group that is unfinished at the end, and ``gather`` without some ranks."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
import torch.multiprocessing as mp

import fastdispatch


def test_it_needs_every_rank() -> None:
    with pytest.raises(fastdispatch.Error, match="gather requires every rank"):
        fastdispatch.CallGraph(None, gather=True, ranks=[0])


def left_open(rank: int, folder: str) -> None:
    """Rank 0 starts a collective that can end only when rank 1 joins it, after rank 0 has stopped recording."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=2)
    store = dist.distributed_c10d._get_default_store()
    tensor = torch.ones(3)
    if rank == 0:
        with fastdispatch.CallGraph(folder) as graph:
            work = dist.all_reduce(tensor, async_op=True)
            while "gloo:all_reduce" not in fastdispatch.load(graph.path).nodes["name"]:
                time.sleep(0.01)  # another thread starts it
        store.set("stopped", "1")
        work.wait()
    else:
        store.wait(["stopped"])
        dist.all_reduce(tensor)
    assert tensor.tolist() == [2, 2, 2]
    dist.destroy_process_group()


def test_asynchronous_work_open_at_the_end_is_counted(tmp_path: Path) -> None:
    mp.spawn(left_open, (str(tmp_path),), nprocs=2)
    assert fastdispatch.load(tmp_path).ranks[0]["counters"]["async_lost"] == 1
