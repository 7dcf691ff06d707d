"""Which rank is missing in which collective: four gloo ranks, of which one is late or calls another collective."""

import json
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import fastdispatch
from fastdispatch.detectors import Finding
from fastdispatch.measures.collective_waits import ASYNC, PARTIAL, Waits, waits
from fastdispatch.read import live
from fastdispatch.read.collectives import group_calls
from fastdispatch.report.comm_report import comm_rows
from tests import commands, processes, schemas
from tests.processes import wait_for

torch = pytest.importorskip("torch")
dist = pytest.importorskip("torch.distributed")
if not dist.is_available():
    pytest.skip("PyTorch without torch.distributed", allow_module_level=True)

pytestmark = pytest.mark.torch

RANKS, BEFORE, SLEEP = 4, 5, 0.2


def late(folder: Path, rank: int) -> None:
    """Rank 3 is not in the sixth all_reduce until it is released."""
    for step in range(BEFORE + 1):
        if step == BEFORE and rank == 3:
            while not (folder / "release").exists():
                time.sleep(0.02)
        dist.all_reduce(torch.ones(6))


def different(folder: Path, rank: int) -> None:
    """Rank 3 calls the barrier instead of the sixth all_reduce, and no rank returns."""
    for step in range(BEFORE + 1):
        if step < BEFORE or rank != 3:
            dist.all_reduce(torch.ones(6))
    dist.barrier()


def start_and_wait(tensor: Any) -> None:
    dist.all_reduce(tensor, async_op=True).wait()


def load_batch(rank: int) -> None:
    time.sleep(SLEEP * (rank == 3))


def slow(folder: Path, rank: int) -> None:
    """Rank 3 is 0.2 s late in ten all_reduce of 16 MB. Each rank also measures the start and end of each call."""
    large = torch.ones(4_000_000)
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], 0.1)
    stamps = []
    for _ in range(10):
        dist.barrier()
        optimizer.step()
        load_batch(rank)
        begin = time.monotonic_ns()
        dist.all_reduce(large)
        stamps.append((begin, time.monotonic_ns()))
    dist.broadcast(large, 0)
    start_and_wait(large)
    (folder / f"stamps{rank}.json").write_text(json.dumps(stamps))


def each(rank: int, folder: Path, scene: Callable[[Path, int], None], options: dict[str, Any]) -> None:
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(RANKS))
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=RANKS)
    with fastdispatch.CallGraph(str(folder / "run"), **options):
        scene(folder, rank)
    dist.destroy_process_group()


@contextmanager
def started(folder: Path, scene: Callable[[Path, int], None], **options: Any) -> Iterator[list[int]]:
    """Start the ranks; kill those that are left at the end."""
    options = options or {"measure": "comm"}
    ranks = [processes.rank_process(rank, each, folder, scene, options) for rank in range(RANKS)]
    for process in ranks:
        process.start()
    try:
        yield ranks
    finally:
        for process in ranks:
            process.kill()
            process.join()


def waiting(folder: Path, name: str = "all_reduce") -> int:
    """Return the number of ranks whose innermost function of torch.distributed has this name."""
    try:
        found = live.position(str(folder / "run"))[0]
    except fastdispatch.Error:  # no recording yet
        return 0
    return sum(stack.thread == "main" and stack.calls[-1].endswith(f":{name}") for stack in found)


def hangs(run: Path) -> list[Finding]:
    return [one for one in fastdispatch.findings(run) if one.id == "hang"]


def called(folder: Path) -> list[int]:
    """Return the collectives of each rank so far."""
    found = [fastdispatch.load(path) for path in live.recordings(str(folder / "run"))]
    return [group.counts.get(rank, 0) for group in group_calls(found) for rank in range(RANKS)]


def test_the_missing_rank_is_named(tmp_path: Path) -> None:
    with started(tmp_path, late) as ranks:
        wait_for(lambda: waiting(tmp_path) == 3 and called(tmp_path) == [BEFORE + 1] * 3 + [BEFORE])
        (sentence,) = live.position(str(tmp_path / "run"))[1]
        start = "rank 3 has not called allreduce_ (float32, 24 B) no. 6 of group 0, in which ranks 0-2 wait, the first"
        assert sentence.startswith(start)
        document = commands.document("stacks", tmp_path / "run")
        schemas.valid(document, "stacks")
        assert document["collectives"][0].startswith(start)
        text = commands.out("stacks", tmp_path / "run")
        assert start in text.splitlines()[-1]
        (tmp_path / "release").touch()
        for process in ranks:
            process.join(60)
        assert [process.exitcode for process in ranks] == [0] * RANKS
    assert live.position(str(tmp_path / "run"))[1] == []


def test_different_collectives_are_a_finding(tmp_path: Path) -> None:
    with started(tmp_path, different):
        wait_for(lambda: waiting(tmp_path) == 3 and waiting(tmp_path, "barrier") == 1)
        start = "ranks call different collectives as no. 6 of group 0: "
        kinds = {"allreduce_ (float32, 24 B) on ranks 0-2", "barrier on rank 3"}
        (sentence,) = live.position(str(tmp_path / "run"))[1]
        assert sentence.startswith(start)
        assert all(kind in sentence for kind in kinds)
        (finding,) = hangs(tmp_path / "run")
        assert finding.ranks == [3] and finding.evidence["waiting"] == [0, 1, 2]
        assert finding.evidence["collectives"] == [sentence]
        assert finding.where.path[-1].endswith(":barrier")


def test_operators_are_compared_without_numbers(tmp_path: Path) -> None:
    with started(tmp_path, late, measure="") as _:
        wait_for(lambda: waiting(tmp_path) == 3)
        wait_for(lambda: live.position(str(tmp_path / "run"))[1])
        expected = f"c10d::allreduce_, all groups: {BEFORE} calls on rank 3, {BEFORE + 1} calls on ranks 0-2"
        wait_for(lambda: live.position(str(tmp_path / "run"))[1] == [expected])
        wait_for(lambda: hangs(tmp_path / "run"))
        (finding,) = hangs(tmp_path / "run")
        assert finding.ranks == [3] and expected in finding.proof


def test_wait_and_transfer_of_a_slow_rank(tmp_path: Path) -> None:
    """The split agrees with the clocks of the program, which are read outside of the calls."""
    with started(tmp_path, slow) as ranks:
        for process in ranks:
            process.join(120)
        assert [process.exitcode for process in ranks] == [0] * RANKS
    stamps = [json.loads((tmp_path / f"stamps{rank}.json").read_text()) for rank in range(RANKS)]
    lasts = [max(begin for begin, _ in calls) for calls in zip(*stamps, strict=True)]
    wait = sum(last - begin for calls in stamps for last, (begin, _) in zip(lasts, calls, strict=True))
    transfer = sum(end - last for calls in stamps for last, (_, end) in zip(lasts, calls, strict=True))
    found = {row.operator: row for row in waits(fastdispatch.load(tmp_path / "run"))}
    reduced = found["allreduce_"]
    assert reduced.collectives == 10 and reduced.undecided == {ASYNC: 1}
    assert reduced.last == {3: 10} and reduced.caused_ns[3] == reduced.wait_ns
    assert reduced.wait_ns == pytest.approx(wait, rel=0.05)
    assert reduced.transfer_ns == pytest.approx(transfer, rel=0.05)
    assert reduced.wait_ns >= 0.95 * 10 * (RANKS - 1) * SLEEP * 1e9
    assert found["broadcast_"].undecided == {PARTIAL: 1} and found["broadcast_"].wait_ns == 0
    assert found["barrier"].collectives == 10
    trace = fastdispatch.load(tmp_path / "run")
    (row,) = [row for row in comm_rows(trace, "") if row.operator == "allreduce_" and not row.asynchronous]
    inside = sum(end - begin for calls in stamps for begin, end in calls)
    assert row.exposed == pytest.approx(inside / sum(rank["recorded"] for rank in trace.ranks), rel=0.05)
    assert row.calls == 10 * RANKS
    lines = commands.out("report", tmp_path / "run", "--comm").splitlines()
    assert any(line.endswith("all_reduce of 16 MB of group 0, rank 3, last in 10") for line in lines)
    assert sum(line.endswith(": not split") for line in lines) == 2
    document = commands.document("report", tmp_path / "run", "--comm")
    schemas.valid(document, "comm")
    (row,) = [row for row in document["back_ends"] if row["name"] == "gloo:all_reduce"]
    assert row["calls"] == 11 * RANKS and row["bytes"] == 11 * RANKS * 16_000_000 and row["time_ns"] > 0
    check_report(tmp_path / "run", reduced)


def check_report(run: Path, reduced: Waits) -> None:
    """The first collective is the planted one, with its cause; barriers are rows, too."""
    text = commands.out("report", run)
    document = commands.document("report", run)
    schemas.valid(document, "report")
    first, *others = document["collectives"]
    assert [first[name] for name in ("operator", "bytes", "collectives", "last_rank", "last")] == [
        "all_reduce", 16_000_000, 10, 3, 10
    ]  # fmt: skip
    assert first["wait_ns"] == first["waited_ns"] == reduced.wait_ns // (10 * RANKS)
    assert first["transfer_ns"] == reduced.transfer_ns // (10 * RANKS)
    assert first["cause"].endswith("test_collectives.py:[]:load_batch")
    assert 0 < first["bus_bandwidth"] <= first["best_bandwidth"]
    assert {row["operator"]: row["bus_bandwidth"] for row in others} == {"barrier": None}
    assert re.search(r"all_reduce of 16 MB: .*, of which .* for rank 3 \(\S+:load_batch, .* more per step", text)
    (finding,) = [each for each in fastdispatch.findings(run) if each.id == "slow-rank"]
    assert finding.ranks == [3] and finding.evidence["waited_ns"] >= reduced.wait_ns
    assert finding.evidence["last"] >= 10 and "collectives last, the others waited" in finding.proof
    one = commands.document("report", run, "--rank", "3")
    assert one["collectives"] == []
