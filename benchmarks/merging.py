"""Merging the timelines of eight ranks, beside what people do without us."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from benchmarks import peers
from benchmarks.figures import Result
from benchmarks.measure import Effort, ratios

_RANKS, _SLICES = 8, 1_000_000
_MEMORY_BAR = 64  # MB
_BASE = 1_790_857_026_000_000_000

_OURS = """
import sys
from fastdispatch.read.timeline_inputs import merge_files
merge_files([(path, rank) for rank, path in enumerate(sys.argv[2:])], sys.argv[1], "wall")
"""

# A common recipe: load, put the rank into the pids, dump.
_PYTHON = """
import json, sys
events = []
for rank, path in enumerate(sys.argv[2:]):
    with open(path) as file:
        for event in json.load(file)["traceEvents"]:
            if event.get("ph") == "M":
                continue
            event["pid"] = f"r{rank}_pid{event['pid']}"
            event["tid"] = f"r{rank}_tid{event['tid']}"
            events.append(event)
with open(sys.argv[1], "w") as file:
    json.dump({"traceEvents": events}, file)
"""

_VIZTRACER = """
import sys
from viztracer.report_builder import ReportBuilder
ReportBuilder(sys.argv[2:], verbose=0).save(sys.argv[1])
"""


class _Peer(NamedTuple):
    program: str
    bar: float
    memory: float  # times the size of the input


_PEERS = {"Python's json": _Peer(_PYTHON, 1 / 12, 5), "VizTracer": _Peer(_VIZTRACER, 1 / 3, 9)}

# Run the program of the arguments; print its processor time and maximum memory.
_MEASURED = """
import json, resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([used.ru_utime + used.ru_stime, used.ru_maxrss / 1024]))
"""


def _plain(count: int) -> Iterator[str]:
    """Slices without arguments, as tracers of Python calls write them."""
    names = [f"megatron/model/transformer.py:[ParallelTransformerLayer]:forward_{number}" for number in range(50)]
    for at in range(count):
        yield (
            f'{{"ph":"X","cat":"python","name":"{names[at % 50]}","pid":4711,"tid":4711,'
            f'"ts":{at * 3 + 5_000_000}.{at % 1000:03d},"dur":2.{at % 1000:03d}}}'
        )


def _kineto(count: int) -> Iterator[str]:
    """Operators, launches and kernels with their arguments and the arrows between them, spaced as PyTorch does."""
    kinds = (
        ("cpu_op", "aten::native_layer_norm", 4711, 4711),
        ("cuda_runtime", "cudaLaunchKernel", 4711, 4711),
        ("kernel", "void at::native::elementwise_kernel<128, 4>", 0, 7),
    )
    for at in range(count):
        cat, name, pid, tid = kinds[at % 3]
        place = f'"pid": {pid}, "tid": {tid},\n    "ts": {at * 3 + 5_000_000}.{at % 1000:03d}'
        yield (
            f'  {{\n    "ph": "X", "cat": "{cat}", "name": "{name}", {place}, "dur": 2.{at % 1000:03d},\n'
            f'    "args": {{\n      "External id": {at},"Record function id": 0, "correlation": {at // 3}, '
            f'"Ev Idx": {at}\n    }}\n  }}'
        )
        if cat != "cpu_op":
            end = ', "bp": "e"' if cat == "kernel" else ""
            phase = "f" if cat == "kernel" else "s"
            yield f'  {{\n    "ph": "{phase}", "id": {at // 3}, {place}, "cat": "ac2g", "name": "ac2g"{end}\n  }}'


def _generate(folder: Path, kind: str, slices: int) -> list[Path]:
    """Write one file per rank, equal except for the rank."""
    events = {"plain": _plain, "kineto": _kineto}[kind](slices)
    body = ",\n".join(events)
    paths = []
    for rank in range(_RANKS):
        path = folder / f"{kind}_r{rank}.json"
        info = json.dumps({"backend": "nccl", "rank": rank, "world_size": _RANKS})
        with path.open("w") as file:
            if kind == "kineto":
                file.write(f'{{"schemaVersion": 1, "distributedInfo": {info}, "baseTimeNanoseconds": {_BASE + rank},\n')
                file.write(f'"traceEvents": [\n{body}\n], "traceName": "{path.name}"}}\n')
            else:
                file.write(f'{{"traceEvents":[{body}]}}\n')
        paths.append(path)
    return paths


def _fitting(inputs: list[Path], factor: float) -> list[Path]:
    """Return as many inputs as fit into half of the memory, at ``factor`` times their size."""
    free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return inputs[: max(1, int(free / 2 / factor / inputs[0].stat().st_size))]


def _run(program: str, output: Path, inputs: list[Path]) -> tuple[float, float]:
    """Return processor time (s) and maximum memory (MB) of a Python process that runs the program."""
    command = [sys.executable, "-c", _MEASURED, sys.executable, "-c", program, str(output), *map(str, inputs)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    output.unlink()
    seconds, megabytes = json.loads(done.stdout.splitlines()[-1])
    return seconds, megabytes


def _peer(result: Result, name: str, peer: _Peer, inputs: list[Path], ours: list[float]) -> None:
    """Compare per byte: peers need gigabytes per rank, so they get fewer inputs."""
    some = _fitting(inputs, peer.memory)
    seconds, megabytes = _run(peer.program, inputs[0].with_name("peer.json"), some)
    note = f"{seconds:.1f} s and {megabytes:.0f} MB for {len(some)} of {len(inputs)}"
    each = [seconds / len(some)] * len(ours)
    result.add(
        name, ratios([one / len(inputs) * 1e9 for one in ours], [one * 1e9 for one in each]), "x", peer.bar, note
    )


def _one_kind(result: Result, effort: Effort, folder: Path, kind: str) -> None:
    inputs = _generate(folder, kind, effort.scaled(_SLICES))
    size = sum(path.stat().st_size for path in inputs) / 1e6
    runs = [_run(_OURS, folder / "merged.json", inputs) for _ in range(min(effort.rounds, 3))]
    seconds = [run[0] for run in runs]
    note = f"{size:.0f} MB, {size / min(seconds):.0f} MB/s at best"
    result.add(f"{kind}: {_RANKS} ranks", [1e3 * each for each in seconds], "ms", None, note)
    result.add(f"{kind}: memory, with Python", [run[1] for run in runs], "MB", _MEMORY_BAR)
    for name, peer in _PEERS.items():
        if name == "VizTracer" and not peers.installed("viztracer"):
            result.skip(f"{kind}: {name}", "not installed")
        else:
            _peer(result, f"{kind}: ours / {name}", peer, inputs, seconds)
    for path in inputs:
        path.unlink()


def measure(effort: Effort) -> Result:
    result = Result()
    with tempfile.TemporaryDirectory(prefix="fastdispatch-bench-") as name:
        for kind in ("plain", "kineto"):
            _one_kind(result, effort, Path(name), kind)
    return result
