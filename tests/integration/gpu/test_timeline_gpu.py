"""``timeline stats`` about GPUs: traces as torch.profiler writes them, figures by hand."""

import json
from pathlib import Path
from typing import Any

from tests import commands
from tests.commands import timeline_stats as stats

Event = dict[str, Any]


def text(*arguments: str | Path) -> str:
    return commands.out("timeline", "stats", *arguments).replace("\u202f", " ")


def slice_of(cat: str, name: str, tid: int, ts: int, dur: int, **args: Any) -> Event:
    return {"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": tid, "ts": ts, "dur": dur, "args": args}


def launch(correlation: int, ts: int, dur: int, name: str = "cudaLaunchKernel", tid: int = 1) -> Event:
    return slice_of("cuda_runtime", name, tid, ts, dur, correlation=correlation)


def work(cat: str, name: str, stream: int, ts: int, dur: int, correlation: int, **args: Any) -> Event:
    made = slice_of(cat, name, stream, ts, dur, device=0, stream=stream, correlation=correlation, **args)
    return made | {"pid": 0}


def kernel(name: str, stream: int, ts: int, dur: int, correlation: int, **args: Any) -> Event:
    return work("kernel", name, stream, ts, dur, correlation, **args)


def write(path: Path, events: list[Event], rank: int = 0) -> Path:
    info = {"distributedInfo": {"rank": rank, "backend": "nccl"}, "baseTimeNanoseconds": 10**18}
    path.write_text(json.dumps(info | {"traceEvents": events}))
    return path


def trace(path: Path) -> Path:
    """Microseconds: gemm 100-110, 112-116 and 300-310 on stream 7, all_reduce 105-125 on stream 20, a copy to the GPU
    320-330 on stream 7."""
    sizes = {"Collective name": "allreduce", "In msg nelems": 5000, "dtype": "Float", "Group size": 4}
    return write(
        path,
        [
            launch(1, 10, 2),
            launch(2, 20, 3),
            launch(3, 250, 60),
            launch(4, 311, 2, "cudaMemcpyAsync"),
            launch(5, 30, 4, "cudaLaunchKernelExC"),
            launch(6, 1, 1, "cudaStreamSynchronize"),
            kernel("gemm", 7, 100, 10, 1),
            kernel("gemm", 7, 112, 4, 2),
            kernel("gemm", 7, 300, 10, 3),
            kernel("ncclDevKernel_AllReduce", 20, 105, 20, 5, **sizes, **{"Process Group Name": "data"}),
            work("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 7, 320, 10, 4, bytes=40000),
        ],
    )


def test_kinds_of_kernels(tmp_path: Path) -> None:
    made = stats(trace(tmp_path / "rank0.json"))
    (gpu,) = made["gpus"]
    assert (gpu["start"], gpu["end"], gpu["busy"], gpu["idle"]) == (100_000, 330_000, 45_000, 185_000)
    assert gpu["kinds"] == [
        {"kind": "compute", "count": 3, "total": 24_000, "time": 24_000, "alone": 15_000},
        {"kind": "communication", "count": 1, "total": 20_000, "time": 20_000, "alone": 11_000},
        {"kind": "memory", "count": 1, "total": 10_000, "time": 10_000, "alone": 10_000},
    ]
    assert {" ".join(row["kinds"]): row["time"] for row in gpu["overlaps"]} == {
        "compute communication": 9_000,
        "compute memory": 0,
        "communication memory": 0,
        "compute communication memory": 0,
    }
    assert {row["name"]: row["kind"] for row in made["names"] if row["kind"]} == {
        "gemm": "compute",
        "ncclDevKernel_AllReduce": "communication",
        "Memcpy HtoD (Pinned -> Device)": "memory",
    }


def test_streams(tmp_path: Path) -> None:
    """Stream 7: gaps of 2 (kernel wait), 184 (launched at 250: host wait) and 10 us (launched at 311: host wait)."""
    first, second = stats(trace(tmp_path / "rank0.json"))["streams"]
    assert (first["device"], first["stream"], first["count"], first["launched"]) == (0, 7, 4, 4)
    assert (first["busy"], first["idle"]) == (34_000, 196_000)
    assert (first["host_wait"], first["kernel_wait"], first["other_wait"]) == (194_000, 2_000, 0)
    assert (second["stream"], second["idle"]) == (20, 0)


def test_gaps_without_a_cause(tmp_path: Path) -> None:
    """The launch came in time and the gap is long, or the launch is not in the trace."""
    works = [("a", 7, 10, 10, 1), ("b", 7, 60, 10, 2), ("c", 7, 99, 1, 3), ("d", 7, 200, 1, 4)]
    launches = [launch(1, 0, 1), launch(2, 1, 1)]
    (row,) = stats(write(tmp_path / "rank0.json", [*launches, *(kernel(*each) for each in works)]))["streams"]
    assert (row["launched"], row["host_wait"]) == (2, 0)
    assert (row["kernel_wait"], row["other_wait"]) == (29_000, 40_000 + 100_000)


def test_the_tables(tmp_path: Path) -> None:
    out = text(trace(tmp_path / "rank0.json"))
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert lines[0] == "1 rank, 0 steps, 11 events, 329 us"
    assert "0 3 24 us 24 us 10.4 % 15 us compute" in lines
    assert "0 9 us 3.9 % compute + communication" in lines
    assert "0 185 us 80.4 % idle" in lines
    assert "100.0 % 24 us 3 8 us 4 us 10 us gemm" in lines
    assert "0 0 7 4 230 us 14.8 % 196 us 99.0 % 1.0 % 0.0 %" in lines
    assert not any(kind in out for kind in ("Kernels: memory", "found no room"))


def test_tables_are_cut(tmp_path: Path) -> None:
    events = [kernel(f"k{i}", i, 10 * i, 5 + i, 0) for i in range(4)]
    out = text(write(tmp_path / "rank0.json", events), "--top", "2")
    assert "Kernels: compute: 2 of 4, with most time" in out
    assert "Streams: 2 of 4, busiest" in out


def test_traces_without_gpus_have_no_such_tables(tmp_path: Path) -> None:
    path = write(tmp_path / "rank0.json", [slice_of("cpu_op", "aten::mm", 1, 0, 5)])
    made = stats(path)
    assert not any(made[key] for key in ("gpus", "streams", "launches"))
    assert "Streams" not in text(path)


def test_clocks_by_kernels_that_send(tmp_path: Path) -> None:
    """Microseconds: the clock of rank 1 is ahead by 1000. Without shapes, only kernels name the peer."""

    def message(correlation: int, ts: int, dur: int, **peer: int) -> Event:
        what = "send" if "Dst Rank" in peer else "recv"
        return kernel("ncclDevKernel_SendRecv", 20, ts, dur, correlation, **{"Collective name": what}, **peer)

    first = [message(1, 100, 10, **{"Dst Rank": 1}), message(2, 200, 100, **{"Src Rank": 1})]
    second = [message(1, 1050, 60, **{"Src Rank": 0}), message(2, 1290, 30, **{"Dst Rank": 0})]
    paths = [write(tmp_path / f"rank{rank}.json", events, rank) for rank, events in enumerate((first, second))]
    reference, file = commands.document("timeline", "stats", "--align", "p2p", *paths)["files"]
    # The message to rank 1 ends at most 1010 later there, the one from rank 1 begins at least 990 later.
    assert file["offset_ns"] - reference["offset_ns"] == -1_000_000
    assert (file["align"], file["uncertainty_ns"]) == ("p2p", 10_000)
