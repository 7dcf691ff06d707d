"""``gather``: real gloo ranks of one machine with a folder each, one of them killed or slower than the limit."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

import fastdispatch
from tests import processes

pytest.importorskip("torch")
WORLD = 4


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("localhost", 0))
        return int(one.getsockname()[1])


def gather(folder: Path, limit: float, faults: dict[int, str], world: int = WORLD) -> list[str]:
    """Run all ranks; return what they printed on standard error."""
    port = free_port()
    running = [
        processes.start("gather_ranks.py", folder, rank, world, port, limit, faults.get(rank, "none"))
        for rank in range(world)
    ]
    ends = [each.communicate(timeout=240) for each in running]
    for rank, each in enumerate(running):
        assert (each.returncode == 0) == (faults.get(rank) != "killed"), ends[rank][1]
    return [errors for _, errors in ends]


def test_rank_0_has_the_recordings_of_all(tmp_path: Path) -> None:
    world = 11
    errors = gather(tmp_path, 120, {}, world)
    assert not any("gather" in text for text in errors)
    for rank in range(world):
        name = f"rank{rank:05d}.fd"
        assert (tmp_path / "host0" / name).read_bytes() == (tmp_path / f"host{rank}" / name).read_bytes()
    assert [rank["rank"] for rank in fastdispatch.load(tmp_path / "host0").ranks] == list(range(world))


@pytest.mark.parametrize("fault", ["killed", "slow"])
def test_a_lost_rank_is_named(tmp_path: Path, fault: str) -> None:
    errors = gather(tmp_path, 16, {2: fault})
    assert "gather: rank 2 of 4 is missing" in errors[0]
    for rank in (1, 3):
        assert "gather" not in errors[rank]
    if fault == "slow":
        assert "gather" in errors[2]
    assert [rank["rank"] for rank in fastdispatch.load(tmp_path / "host0").ranks] == [0, 1, 3]
    assert "rank 2 of 4 is missing" in processes.fastdispatch("report", tmp_path / "host0").stdout
