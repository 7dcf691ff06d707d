"""What pipelines take to be reported on, cut and planned, at the sizes that are promised."""

import os
import resource
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import process_time
from unittest import mock

import fastdispatch
from benchmarks.figures import Result
from benchmarks.measure import Effort, quiet
from fastdispatch import pipeline

_PAGE, _JOBS, _ANCHOR = 4096, 13, slice(128, 160)
_UNIT_NS = 100_000
_ITERATIONS = 10


def _record(folder: Path, rank: int, ranks: int, rows: list[pipeline.Job]) -> Path:
    """The jobs of a stage, as fast as they can be marked."""
    given = {"RANK": str(rank), "WORLD_SIZE": str(ranks), "FASTDISPATCH_RUN_ID": "pipelines"}
    with (
        mock.patch.dict(os.environ, given),
        fastdispatch.CallGraph(folder, jobs=True, ops="off", calls="off", steps="all") as graph,
    ):
        for _ in range(_ITERATIONS):
            for row in rows:
                mb, peer = (None if number < 0 else number for number in (row.mb, row.peer))
                with fastdispatch.job(row.kind, mb, stage=row.stage, peer=peer):
                    pass
            graph.step()
    return Path(graph.path or "")


def _retime(path: Path, start: bytes, spans: list[tuple[int, int]], whole: int) -> None:
    """Give the jobs the times of the schedule, by the format of recordings: all ranks start at ``start``."""
    data = bytearray(path.read_bytes())
    [hertz] = struct.unpack_from("<d", data, 120)
    ticks, *clocks = struct.unpack("<4Q", start)
    data[_ANCHOR] = start
    struct.pack_into("<4Q", data, 160, ticks + int(whole * hertz / 1e9), *(clock + whole for clock in clocks))
    at, job = _PAGE, 0
    while at < len(data):
        magic, _, size, kind, record, _, used = struct.unpack_from("<QQQIIII", data, at)
        if magic != 0x6B6E756863646600:
            break
        for index in range(at + 64, at + 64 + used * record, record) if kind == _JOBS else ():
            begin, end = spans[job]
            struct.pack_into("<QQ", data, index, ticks + int(begin * hertz / 1e9), int((end - begin) * hertz / 1e9))
            job += 1
        at += size
    assert job == len(spans), path
    path.write_bytes(data)


def record(folder: Path, stages: int, micro_batches: int) -> int:
    """A run of DeepSpeed's schedule with blocking transfers of a tenth; how many jobs it has."""
    plan = pipeline.plan("deepspeed-train", stages, micro_batches)
    played = plan.replay(transfer=0.1, blocking=True)
    step = round(played.makespan * _UNIT_NS) + _UNIT_NS
    times = [(round(a * _UNIT_NS), round(b * _UNIT_NS)) for a, b in zip(played.begin, played.end, strict=True)]
    start = b""
    for rank in range(stages):
        places = [at for at, row in enumerate(plan.rows) if row.rank == rank]
        path = _record(folder, rank, stages, [plan.rows[at] for at in places])
        start = start or path.read_bytes()[_ANCHOR]
        spans = [(number * step + times[at][0], number * step + times[at][1])
                 for number in range(_ITERATIONS) for at in places]  # fmt: skip
        _retime(path, start, spans, _ITERATIONS * step)
    return len(plan.rows) * _ITERATIONS


def _command(effort: Effort, folder: Path) -> list[float]:
    """Milliseconds of processor time of the whole command, the start of Python in it."""
    run = []
    for _ in range(effort.rounds):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [sys.executable, "-m", "fastdispatch", "pipeline", "report", str(folder)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        run.append((after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1e3)
    return run


def _several(effort: Effort, work: Callable[[], object]) -> list[float]:
    run = []
    for _ in range(effort.rounds):
        begin = process_time()
        work()
        run.append((process_time() - begin) * 1e3)
    return run


def measure(effort: Effort) -> Result:
    result = Result()
    ranks, batches = (4, 8) if effort.quick else (64, 166)
    with tempfile.TemporaryDirectory(prefix="fastdispatch-bench-") as name:
        jobs = record(Path(name), ranks, batches)
        times = _command(effort, Path(name))
        note = f"{ranks} ranks, {jobs} jobs, {jobs / min(times):.0f} a ms"
        result.add("pipeline report, the whole command", times, "ms", 2000, note)
    weights = [1 + number * 7919 % 1000 for number in range(2000)]
    with quiet():
        cut = _several(effort, lambda: pipeline.partition(weights, 16))
        result.add("partition of 2 000 layers in 16", cut, "ms", 1000)
        planned = _several(effort, lambda: pipeline.plan("deepspeed-train", 64, 1024))
        result.add("plan of 64 stages, 1 024 micro-batches", planned, "ms", 200)
    return result
