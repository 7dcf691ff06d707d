"""``gather=True``: hosts that share no disk, here two folders."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
import torch.multiprocessing as mp

import fastdispatch


def worker(rank: int, folder: str) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=2)
    with fastdispatch.CallGraph(f"{folder}/host{rank}", gather=True):
        torch.ones(3).add_(rank)
    dist.destroy_process_group()


def test_rank_0_gets_every_recording_and_names_it(tmp_path: Path) -> None:
    mp.spawn(worker, (str(tmp_path),), nprocs=2)
    trace = fastdispatch.load(tmp_path / "host0")
    assert [rank["rank"] for rank in trace.ranks] == [0, 1]
    manifest = json.loads((tmp_path / "host0" / "manifest.json").read_text())
    assert [entry["file"] for entry in manifest["ranks"]] == ["rank00000.fd", "rank00001.fd"]
    assert manifest["ranks"][1]["pid"] == trace.ranks[1]["pid"]
    sent = (tmp_path / "host1" / "rank00001.fd").read_bytes()
    assert (tmp_path / "host0" / "rank00001.fd").read_bytes() == sent


def test_it_needs_every_rank() -> None:
    with pytest.raises(fastdispatch.Error, match="gather needs every rank"):
        fastdispatch.CallGraph(None, gather=True, ranks=[0])
