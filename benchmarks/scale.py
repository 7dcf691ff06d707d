"""Data sets of many ranks, beside the merge in JSON. The ranks are copies of one recording with times scaled."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter

import fastdispatch
from benchmarks.figures import Result
from benchmarks.measure import Effort
from tests import many_ranks

ROOT = Path(__file__).parent.parent
_GPT = ROOT / "docs" / "examples" / "gpt" / "pretrain.py"
_QUERIES = ("hottest-paths", "slowest-rank", "different-counts", "step-percentiles")
Cost = tuple[float, float]  # seconds, MB of the largest process


def _run(*arguments: object) -> Cost:
    """Run a command of fastdispatch; raises CalledProcessError if it fails."""
    command = [sys.executable, "-m", "fastdispatch", *map(str, arguments)]
    begin = perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return perf_counter() - begin, usage.ru_maxrss / 1e3


def _record(folder: Path, steps: int) -> Path:
    """One rank of the example GPT."""
    command = [sys.executable, "-m", "fastdispatch", "run", "--out", folder, _GPT, "--steps", str(steps)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return folder / "rank00000.fd"


def _size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def _dataset(result: Result, folder: Path, source: Path, ranks: int, bars: bool) -> float:
    """Measure one number of ranks; return the seconds."""
    inputs, target = folder / f"ranks{ranks}", folder / f"run{ranks}.parquet"
    many_ranks.write(source, inputs, ranks)
    seconds, megabytes = _run("merge", inputs, "-o", target)
    result.add(f"data set of {ranks} ranks", [seconds], "s", 40 if bars else None)
    result.add(f"data set of {ranks} ranks, largest process", [megabytes], "MB", 2000 if bars else None)
    result.add(f"data set of {ranks} ranks, size per rank", [_size(target) / ranks / 1e3], "kB", 25 if bars else None)
    for name in _QUERIES if bars else ():
        seconds_of_query, _ = _run("sql", target, name)
        result.add(f"sql {name}, {ranks} ranks", [seconds_of_query], "s", 3)
    return seconds


def _json(result: Result, folder: Path, ranks: int) -> None:
    """The merge in JSON and the data set, of the same ranks."""
    inputs = folder / f"ranks{ranks}"
    seconds, megabytes = _run("merge", inputs, "-o", folder / "merged.json")
    again, less = _run("merge", inputs, "-o", folder / "again.parquet")
    reporting, most = _run("report", folder / "merged.json")
    for name, cost in (("merge in JSON", (seconds, megabytes)), ("report of the merge in JSON", (reporting, most))):
        result.add(f"{name}, {ranks} ranks", [cost[0]], "s")
        result.add(f"{name}, {ranks} ranks, largest process", [cost[1]], "MB")
    result.add(f"data set / merge in JSON, {ranks} ranks, time", [again / seconds], "x")
    result.add(f"data set / merge in JSON, {ranks} ranks, memory", [less / megabytes], "x")


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
        paths = len(fastdispatch.load(source).contexts["node"])
        result.add("call paths per rank", [float(paths)], "")
        seconds = [_dataset(result, folder, source, count, count == 4096) for count in ranks]
        result.add("exponent of the growth with ranks", [_exponent(ranks, seconds)], "")
        _json(result, folder, ranks[-2])
    return result
