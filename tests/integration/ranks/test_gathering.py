"""``gather``: real gloo ranks of one machine with a folder each, one of them killed or slower than the limit."""

import json
import time
from pathlib import Path

import pytest
import torch
import torch.distributed as dist

import fastdispatch
from tests import commands, processes

pytest.importorskip("torch")


def gather(folder: Path, world: int, limit: float, faults: dict[int, str]) -> list[str]:
    """Run all ranks; return what they printed on standard error."""
    given = [faults.get(rank, "none") for rank in range(world)]
    running = processes.start_ranks(processes.TORCH, "gather_ranks.py", world, folder, limit, *given)
    ends = [each.communicate(timeout=240) for each in running]
    for rank, each in enumerate(running):
        assert (each.returncode == 0) == (faults.get(rank) != "killed"), ends[rank][1]
    return [errors for _, errors in ends]


def test_rank_0_has_the_recordings_of_all(tmp_path: Path) -> None:
    world = 11
    errors = gather(tmp_path, world, 120, {})
    assert not any("gather" in text for text in errors)
    names = [f"rank{rank:05d}.fd" for rank in range(world)]
    for rank, name in enumerate(names):
        assert (tmp_path / "host0" / name).read_bytes() == (tmp_path / f"host{rank}" / name).read_bytes()
    ranks = fastdispatch.load(tmp_path / "host0", timeline=True).ranks
    assert [rank["rank"] for rank in ranks] == list(range(world))
    assert all(rank["notes"] == [] and sum(rank["threads"]["events_lost"]) == 0 for rank in ranks)
    manifest = json.loads((tmp_path / "host0" / "manifest.json").read_text())["ranks"]
    assert [(entry["file"], entry["pid"]) for entry in manifest] == [
        (name, rank["pid"]) for name, rank in zip(names, ranks, strict=True)
    ]


def test_lost_ranks_are_named(tmp_path: Path) -> None:
    errors = gather(tmp_path, 5, 16, {2: "killed", 3: "slow"})
    assert [rank for rank, text in enumerate(errors) if "gather" in text] == [0, 3]
    assert "gather: ranks 2-3 of 5 are missing" in errors[0]
    assert [rank["rank"] for rank in fastdispatch.load(tmp_path / "host0").ranks] == [0, 1, 4]
    assert "ranks 2-3 of 5 are missing" in commands.out("report", tmp_path / "host0")


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
    processes.spawn_ranks(left_open, str(tmp_path))
    assert fastdispatch.load(tmp_path).ranks[0]["counters"]["async_lost"] == 1
