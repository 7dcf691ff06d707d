"""``gather``: real gloo ranks of one machine with a folder each, one of them killed or slower than the limit."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

import fastdispatch
from fastdispatch.dataset import reduced, run_loading
from tests import processes

pytest.importorskip("torch")
WORLD = 4


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("localhost", 0))
        return int(one.getsockname()[1])


def gather(folder: Path, few: int, limit: float, faults: dict[int, str], world: int = WORLD) -> list[str]:
    """Run all ranks; return what they printed on standard error."""
    port = free_port()
    running = [
        processes.start("gather_ranks.py", folder, rank, world, port, limit, few, faults.get(rank, "none"))
        for rank in range(world)
    ]
    ends = [each.communicate(timeout=240) for each in running]
    for rank, each in enumerate(running):
        assert (each.returncode == 0) == (faults.get(rank) != "killed"), ends[rank][1]
    return [errors for _, errors in ends]


def dumped(trace: fastdispatch.Trace, path: Path) -> bytes:
    trace.dump(path)
    return path.read_bytes()


def merged(folder: Path, ranks: list[int]) -> fastdispatch.Trace:
    return reduced.of_many([str(folder / f"host{rank}" / f"rank{rank:05d}.fd") for rank in ranks], None)


def test_the_tree_is_the_merge_of_the_same_files(tmp_path: Path) -> None:
    world = 11  # ranks 9 and 10 are below rank 1
    errors = gather(tmp_path, 0, 120, {}, world)
    assert not any("gather" in text for text in errors)
    found = run_loading.load_run(tmp_path / "host0")
    assert found.reduced is not None and found.reduced["ranks"] == [[0, world - 1]]
    expected = merged(tmp_path, list(range(world)))
    assert dumped(found, tmp_path / "found.json") == dumped(expected, tmp_path / "expected.json")
    assert run_loading.rank_rows(found) == run_loading.rank_rows(expected)
    assert [row.rank for row in run_loading.rank_rows(found) if row.steps] == list(range(world))


@pytest.mark.parametrize("few", [0, 16], ids=["tree", "recordings"])
@pytest.mark.parametrize("fault", ["killed", "slow"])
def test_a_lost_rank_is_named(tmp_path: Path, few: int, fault: str) -> None:
    errors = gather(tmp_path, few, 16, {2: fault})
    assert "gather: rank 2 of 4 is missing" in errors[0]
    for rank in (1, 3):
        assert "gather" not in errors[rank]
    if fault == "slow":
        assert "gather" in errors[2]
    found = run_loading.load_run(tmp_path / "host0")
    if few:
        assert [rank["rank"] for rank in found.ranks] == [0, 1, 3]
        return
    assert found.reduced is not None and found.reduced["ranks"] == [[0, 1], [3, 3]]
    assert dumped(found, tmp_path / "a.json") == dumped(merged(tmp_path, [0, 1, 3]), tmp_path / "b.json")
    assert "rank 2 of 4 is missing" in processes.fastdispatch("report", tmp_path / "host0").stdout
