"""Reading and writing of a recording with 100 000 contexts."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, process_time
from unittest import mock

import fastdispatch
from benchmarks.figures import Result
from benchmarks.measure import Effort, quiet, ratios

_DUMP_MS = 300
_FUNCTIONS, _DEPTH = 10, 5  # 10 + 100 + ... + 10^5 paths


def _program(functions: int) -> Callable[[int], None]:
    """A function that calls each of ``functions`` others, which do the same, down to a depth."""
    callees = "; ".join(f"f{number}(depth - 1)" for number in range(functions))
    source = "\n".join(f"def f{number}(depth):\n    if depth > 1: {callees}" for number in range(functions))
    namespace: dict[str, Callable[[int], None]] = {}
    exec(compile(source, "<paths>", "exec"), namespace)
    return lambda depth: [namespace[f"f{number}"](depth) for number in range(functions)] and None


def _milliseconds(work: Callable[[], object]) -> float:
    """Of processor time: nothing here waits for a disk."""
    begin = process_time()
    work()
    return (process_time() - begin) * 1e3


def _several(effort: Effort, work: Callable[[], object]) -> list[float]:
    return [_milliseconds(work) for _ in range(effort.rounds)]


def record(folder: Path, effort: Effort, name: str) -> Path:
    """A recording of about 100 000 contexts."""
    with fastdispatch.CallGraph(folder / name, ops="off") as graph:
        _program(_FUNCTIONS)(2 if effort.quick else _DEPTH)
    return Path(graph.path or "")


def _pairs(effort: Effort, ours: Callable[[], object], peer: Callable[[], object]) -> tuple[list[float], list[float]]:
    """Milliseconds of both, taken in turns."""
    pairs = [(_milliseconds(ours), _milliseconds(peer)) for _ in range(effort.rounds)]
    return [pair[0] for pair in pairs], [pair[1] for pair in pairs]


def _json(result: Result, effort: Effort, recording: Path, dump: Path) -> None:
    """Dump and load, beside Python's own json on the same document."""
    trace = fastdispatch.load(recording)
    trace.dump(dump)
    document = json.loads(dump.read_text())
    ours, peer = _pairs(
        effort, lambda: trace.dump(dump), lambda: dump.with_suffix(".peer").write_text(json.dumps(document))
    )
    result.add("dump", ours, "ms", _DUMP_MS, f"{dump.stat().st_size / 1e6:.1f} MB of JSON")
    result.add("dump / json.dumps of the same document", ratios(ours, peer), "x")
    ours, peer = _pairs(effort, lambda: fastdispatch.load(dump), lambda: json.loads(dump.read_text()))
    result.add("load of the dump", ours, "ms")
    result.add("load of the dump / json.loads", ratios(ours, peer), "x")


def _command(result: Result, effort: Effort, recording: Path) -> None:
    """The table in a terminal, with the start of Python in it."""
    command = [sys.executable, "-m", "fastdispatch", "report", str(recording)]
    if subprocess.run(command, check=False, capture_output=True).returncode != 0:
        result.skip("report", "the command failed")
        return
    run = []
    for _ in range(effort.rounds):
        begin = perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        run.append((perf_counter() - begin) * 1e3)
    result.add("fastdispatch report, the whole command", run, "ms")


def measure(effort: Effort) -> Result:
    result = Result()
    with tempfile.TemporaryDirectory(prefix="fastdispatch-bench-") as name, quiet():
        folder = Path(name)
        recording = record(folder, effort, "one")
        contexts = len(fastdispatch.load(recording).contexts["node"])
        size = recording.stat().st_size
        note = f"{contexts} contexts, {size / contexts:.0f} bytes each"
        result.add("recording", [size / 1e6], "MB", None, note)
        result.add("load", _several(effort, lambda: fastdispatch.load(recording)), "ms")
        _json(result, effort, recording, folder / "dump.json")
        result.add("table by function", _several(effort, lambda: fastdispatch.load(recording).table()), "ms")
        _merge(result, effort, folder)
        _command(result, effort, recording)
    return result


def _merge(result: Result, effort: Effort, folder: Path) -> None:
    """Two ranks of 100 000 contexts each."""
    ranks = []
    for rank in ("0", "1"):
        with mock.patch.dict(os.environ, RANK=rank, WORLD_SIZE="2", FASTDISPATCH_RUN_ID="reading"):
            ranks.append(record(folder, effort, rank))
    merged = folder / "merged.json"
    result.add("merge of two", _several(effort, lambda: fastdispatch.merge(ranks, merged)), "ms")
