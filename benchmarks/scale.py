"""Data sets of many ranks. The ranks are copies of recordings with times scaled."""

import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import fastdispatch
from benchmarks.figures import Result
from benchmarks.measure import Effort
from tests import many_ranks

ROOT = Path(__file__).parent.parent
_GPT = ROOT / "docs" / "examples" / "gpt" / "pretrain.py"
_RANKS = ROOT / "benchmarks" / "programs" / "ranks.py"
#: Arguments of this program: 3 000 to 10 000, and about 50 000 call paths per rank.
_KINDS = (("ddp", 8), ("fsdp", 2), ("pipeline", 8), ("pipeline", 130))
_MANY = 256  # ranks from which on the size is limited
_QUERIES = ("hottest-paths", "slowest-rank", "different-counts", "step-percentiles")


class Cost(NamedTuple):
    """Of a command: seconds, MB of the largest process, CPU seconds of all processes."""

    seconds: float
    megabytes: float
    cpu: float


def _run(*arguments: object) -> Cost:
    """Run a command of fastdispatch; raises CalledProcessError if it fails."""
    command = [sys.executable, "-m", "fastdispatch", *map(str, arguments)]
    begin = perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return Cost(perf_counter() - begin, usage.ru_maxrss / 1e3, usage.ru_utime + usage.ru_stime)


def _record(folder: Path, steps: int) -> Path:
    """One rank of the example GPT."""
    command = [sys.executable, "-m", "fastdispatch", "run", "--out", folder, _GPT, "--steps", str(steps)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return folder / "rank00000.fd"


def _record_ranks(folder: Path, kind: str, layers: int) -> list[Path]:
    """Two ranks of a training."""
    command = [sys.executable, "-m", "fastdispatch", "run", "--out", folder]
    command += ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", _RANKS, kind, str(layers)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return [folder / f"rank{rank:05}.fd" for rank in range(2)]


def _paths(source: Path) -> int:
    return len(fastdispatch.load(source).contexts["node"])


def _size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def _dataset(result: Result, folder: Path, source: Path, ranks: int, bars: bool) -> float:
    """Measure one number of ranks; return the CPU seconds of all processes."""
    inputs, target = folder / f"ranks{ranks}", folder / f"run{ranks}.parquet"
    many_ranks.write(source, inputs, ranks)
    cost = _run("merge", inputs, "-o", target)
    result.add(f"data set of {ranks} ranks", [cost.seconds], "s", 40 if bars else None)
    result.add(f"data set of {ranks} ranks, CPU time", [cost.cpu], "s")
    result.add(f"data set of {ranks} ranks, largest process", [cost.megabytes], "MB", 2000 if bars else None)
    size = _size(target) / ranks / 1e3
    result.add(f"data set of {ranks} ranks, size per rank", [size], "kB", 25 if ranks >= _MANY else None)
    for name in _QUERIES if bars else ():
        result.add(f"sql {name}, {ranks} ranks", [_run("sql", target, name).seconds], "s", 3)
    return cost.cpu


def _kind(result: Result, folder: Path, kind: str, layers: int, ranks: int) -> None:
    """The data set of one kind of training, and its report."""
    sources = _record_ranks(folder / "recorded", kind, layers)
    name = f"{ranks} ranks, {kind} of {layers} layers"
    many_ranks.write(sources, folder / "ranks", ranks)
    cost = _run("merge", folder / "ranks", "-o", folder / "run.parquet")
    report = _run("report", folder / "run.parquet")
    result.add(f"call paths per rank, {name}", [sum(map(_paths, sources)) / len(sources)], "")
    result.add(f"data set, {name}", [cost.seconds], "s")
    result.add(f"data set, {name}, largest process", [cost.megabytes], "MB")
    result.add(f"data set, {name}, size per rank", [_size(folder / "run.parquet") / ranks / 1e3], "kB")
    result.add(f"report, {name}", [report.seconds], "s")
    result.add(f"report, {name}, memory", [report.megabytes], "MB")


def _exponent(ranks: Sequence[int], seconds: Sequence[float]) -> float:
    """Of the power of ranks by which the cost grows, between the two largest."""
    return math.log(seconds[-1] / seconds[-2]) / math.log(ranks[-1] / ranks[-2])


def measure(effort: Effort) -> Result:
    result = Result()
    ranks = (2, 4) if effort.quick else (16, 256, 1024, 4096)
    with tempfile.TemporaryDirectory(prefix="fastdispatch-bench-") as name:
        folder = Path(name)
        try:
            source = _record(folder / "gpt", 2 if effort.quick else 10)
        except subprocess.CalledProcessError:
            result.skip("data sets", "the example does not run here: PyTorch is missing")
            return result
        result.add("call paths per rank", [float(_paths(source))], "")
        seconds = [_dataset(result, folder, source, count, count == 4096) for count in ranks]
        exponent = _exponent(ranks, seconds)
        result.add("exponent of the growth of CPU time with ranks", [exponent], "")
        result.add("CPU time of 100 000 ranks by it", [seconds[-1] * (100_000 / ranks[-1]) ** exponent], "s")
        for kind, layers in _KINDS[: 1 if effort.quick else None]:
            with tempfile.TemporaryDirectory(prefix="ranks-", dir=folder) as place:
                _kind(result, Path(place), kind, layers, ranks[1])
    return result
