"""Bytes of communication per call path and group: known volumes of parallel trainings on two ranks with gloo."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import fastdispatch
from tests import commands, golden, processes, schemas

torch = pytest.importorskip("torch")
dist = pytest.importorskip("torch.distributed")
if not dist.is_available():
    pytest.skip("PyTorch without torch.distributed", allow_module_level=True)

pytestmark = pytest.mark.torch


STEPS = 3

ASYNC = 2  # FD_MEASURE_ASYNC


def in_pair(tensor: torch.Tensor, pair: dist.ProcessGroup) -> None:
    dist.all_reduce(tensor, group=pair)


def plain(folder: str, rank: int) -> None:
    """Each operator with a different size; one group is new."""
    pair = dist.new_group([0, 1])
    six, twelve = torch.ones(6), torch.ones(12, dtype=torch.float64)
    with fastdispatch.CallGraph(folder, measure="comm"):
        dist.all_reduce(six)
        dist.all_reduce(six, async_op=True).wait()
        in_pair(twelve, pair)
        dist.broadcast(twelve, 0)
        dist.all_gather([torch.ones(6), torch.ones(6)], six)
        dist.all_to_all_single(torch.ones(12, dtype=torch.float64), twelve)
        dist.barrier()
        if rank == 0:
            dist.send(six, 1)
        else:
            dist.recv(six, 0)


def unequal(folder: str, rank: int) -> None:
    """Ranks send and receive different amounts."""
    six, objects = torch.ones(6), [{"rank": rank}]
    splits = ([1, 5], [1, 2]) if rank == 0 else ([2, 2], [5, 2])
    with fastdispatch.CallGraph(folder, measure="comm"):
        dist.all_to_all_single(torch.ones(sum(splits[1])), torch.ones(sum(splits[0])), splits[1], splits[0])
        dist.all_reduce_coalesced([torch.ones(2), torch.ones(3)])
        dist.reduce(six, 0)
        dist.gather(six, [torch.ones(6), torch.ones(6)] if rank == 0 else None, 0)
        dist.scatter(six, [torch.ones(6), torch.ones(6)] if rank == 0 else None, 0)
        dist.broadcast_object_list(objects, 0)


def data_parallel(folder: str, rank: int) -> None:
    """Gradients of 100,000 and 101,000 bytes, a bucket each. PyTorch plans the buckets in the first two steps."""
    layers = [torch.nn.Linear(100, 250, bias=False), torch.nn.Linear(250, 101, bias=False)]
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(*layers), bucket_cap_mb=0.09)
    for _ in range(2):
        model(torch.ones(2, 100)).sum().backward()
    with fastdispatch.CallGraph(folder, measure="comm"):
        for _ in range(STEPS):
            model(torch.ones(2, 100)).sum().backward()


def sharded(folder: str, rank: int) -> None:
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    model = torch.nn.Linear(64, 32, bias=False)
    fully_shard(model, mesh=init_device_mesh("cpu", (2,)))
    model(torch.ones(2, 64)).sum().backward()
    with fastdispatch.CallGraph(folder, measure="comm"):
        for _ in range(STEPS):
            model(torch.ones(2, 64)).sum().backward()


def tensor_parallel(folder: str, rank: int) -> None:
    """A layer with half of the input on each rank: its output, 5 x 32, is reduced."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor.parallel import RowwiseParallel, parallelize_module

    model = torch.nn.Sequential(torch.nn.Linear(64, 32, bias=False))
    parallelize_module(model, init_device_mesh("cpu", (2,)), {"0": RowwiseParallel()})
    model(torch.ones(5, 32))
    with fastdispatch.CallGraph(folder, measure="comm"):
        for _ in range(STEPS):
            model(torch.ones(5, 32))


def pipeline(folder: str, rank: int) -> None:
    """Four micro-batches of 2 x 16 go to the second stage, their gradients back."""
    from torch.distributed.pipelining import PipelineStage, ScheduleGPipe

    stage = PipelineStage(torch.nn.Linear(16, 16), rank, 2, torch.device("cpu"))
    schedule = ScheduleGPipe(stage, 4, loss_fn=lambda out, _target: out.sum())

    def step() -> None:
        if rank == 0:
            schedule.step(torch.ones(8, 16))
        else:
            schedule.step(target=torch.ones(8, 16))

    step()
    with fastdispatch.CallGraph(folder, measure="comm"):
        for _ in range(STEPS):
            step()


SCENES = (plain, unequal, data_parallel, sharded, tensor_parallel, pipeline)


def each(rank: int, folder: str) -> None:
    os.environ.update(MASTER_ADDR="127.0.0.1", RANK=str(rank), WORLD_SIZE="2")
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=2)
    for scene in SCENES:
        scene(f"{folder}/{scene.__name__}", rank)
        dist.barrier()
    dist.destroy_process_group()


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("comm")
    processes.spawn_ranks(each, str(folder))
    return folder


def rows(runs: Path, scene: str, rank: int) -> dict[tuple[str, str, int], list[int]]:
    """Return calls, sent and received bytes of a rank by operator, detail and flags, over all call paths."""
    trace = fastdispatch.load(runs / scene)
    of = trace.ranks[rank]["measures"]
    found: dict[tuple[str, str, int], list[int]] = {}
    columns = (of[name] for name in ("kind", "context", "detail", "flags", "count", "sum", "other"))
    for kind, context, detail, flags, *figures in zip(*columns, strict=True):
        if kind == "comm":
            name = trace.nodes["key"][trace.contexts["node"][context]]
            sums = found.setdefault((name, detail, flags), [0, 0, 0])
            sums[:] = (a + b for a, b in zip(sums, figures, strict=True))
    return found


@pytest.mark.parametrize("rank", [0, 1])
@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.__name__)
def test_bytes_of_each_operator(runs: Path, scene: Callable[[str, int], None], rank: int) -> None:
    """Those that follow from the sizes in the programs."""
    found = rows(runs, scene.__name__, rank)
    if scene is unequal:
        objects = found.pop(("c10d::broadcast_", "uint8 0:2", 0))
        assert objects[0] == 1 and objects[1] == objects[2] > 0  # the pickled object; its size is one int64
    expected = golden.document("comm_bytes")[scene.__name__][rank]
    assert {f"{name} {detail} {flags}": figures for (name, detail, flags), figures in found.items()} == expected


@pytest.mark.parametrize("rank", [0, 1])
def test_latest_collectives_have_the_numbers_of_their_group(runs: Path, rank: int) -> None:
    """Those that wait in Python have an end."""
    of = fastdispatch.load(runs / "plain").ranks[rank]["measures"]
    names = ("kind", "detail", "count", "sum", "max")
    latest = [row for kind, *row in zip(*(of[name] for name in names), strict=True) if kind == "latest"]
    numbers = {group: sorted(row[1] for row in latest if row[0].endswith(f" {group}")) for group in ("0:2", "1:2")}
    assert numbers == {"0:2": [1, 2, 3, 4, 5, 6], "1:2": [1]}
    assert sum(row[3] == 0 for row in latest) == 1  # async_op
    assert all(row[3] == 0 or row[2] < row[3] for row in latest)


@pytest.mark.parametrize("rank", [0, 1])
def test_collectives_are_counted_per_group(runs: Path, rank: int) -> None:
    """The six of group 0 without the message, one of the new group."""
    of = fastdispatch.load(runs / "plain").ranks[rank]["measures"]
    rows = zip(of["kind"], of["detail"], of["count"], strict=True)
    assert {detail: count for kind, detail, count in rows if kind == "collectives"} == {"0:2": 6, "1:2": 1}


def report(runs: Path, scene: str) -> dict[tuple[str, str, bool], dict[str, Any]]:
    document = commands.document("report", runs / scene, "--comm")
    schemas.valid(document, "comm")
    return {(row["operator"], row["group"], row["asynchronous"]): row for row in document["rows"]}


def test_report_sums_ranks_and_computes_bandwidth(runs: Path) -> None:
    rows = report(runs, "plain")
    gather = rows["allgather_", "0", False]
    assert [gather[name] for name in ("ranks", "calls", "sent", "received", "ranks_in_group")] == [2, 2, 48, 96, 2]
    assert gather["algorithm_bandwidth"] == pytest.approx(96 / gather["time_ns"] * 1e9)
    assert gather["bus_bandwidth"] == pytest.approx(gather["algorithm_bandwidth"] / 2)  # (n - 1) / n
    reduced = rows["allreduce_", "1", False]
    assert reduced["bus_bandwidth"] == pytest.approx(reduced["algorithm_bandwidth"])  # 2 (n - 1) / n
    assert reduced["call_ns"] <= reduced["time_ns"]
    for asynchronous in (True, False):  # one path, whose time is that of both
        started = rows["allreduce_", "0", asynchronous]
        assert started["calls"] == 2
        assert [started[name] for name in ("time_ns", "algorithm_bandwidth", "exposed")] == [None] * 3
    assert rows["barrier", "0", False]["algorithm_bandwidth"] is None
    assert rows["send", "0", False]["ranks"] == rows["recv_", "0", False]["ranks"] == 1


def test_report_as_text_names_the_callers(runs: Path) -> None:
    text = commands.out("report", runs / "plain", "--comm")
    lines = [line for line in text.splitlines() if "allreduce_ of group 0 (2 ranks), float32" in line]
    assert len(lines) == 2 and all("test_comm.py:[]:plain" in line for line in lines)
    assert sum(", async" in line for line in lines) == 1


def test_no_bandwidth_if_the_host_does_not_wait(runs: Path, tmp_path: Path) -> None:
    """A stand-in for NCCL, which needs a GPU: a recording of gloo in which the back end has its name."""
    commands.out("merge", runs / "plain", "-o", tmp_path / "gloo.json")
    dump = (tmp_path / "gloo.json").read_text()
    assert '"gloo:all_reduce"' in dump
    (tmp_path / "nccl.json").write_text(dump.replace('"gloo:', '"nccl:'))
    found = {}
    for name in ("gloo", "nccl"):
        rows = commands.document("report", tmp_path / f"{name}.json", "--comm")["rows"]
        rows = [row for row in rows if row["operator"] == "allgather_"]
        found[name] = [(row["time_ns"] is None, row["algorithm_bandwidth"] is None) for row in rows]
    assert found == {"gloo": [(False, False)], "nccl": [(True, True)]}
