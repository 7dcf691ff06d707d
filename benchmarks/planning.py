"""Time and memory of planning a pipeline, for graphs with published times of the original optimizer."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from benchmarks.figures import Result
from benchmarks.measure import Effort
from fastdispatch.pipeline import Graph
from tests import models

# Processor time of only the search, and the maximum memory of the process.
_PLANNED = """
import json, resource, sys, time
from fastdispatch.pipeline import Graph, optimize
graph = Graph.read(sys.argv[1])
options = json.loads(sys.argv[2])
begin = time.process_time()
found = optimize(graph, **options)
took = time.process_time() - begin
memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps([took, memory, found.states]))
"""


class _Case(NamedTuple):
    name: str
    graph: Callable[[int], Graph]
    size: int
    machines: list[int]
    bar: float  # ms
    memory: float | None = None  # MB, Python included
    options: dict[str, object] | None = None
    note: str = ""


def _inception(blocks: int) -> Graph:
    return models.branchy(blocks, (3, 9, 12, 6, 5) if blocks > 2 else (2, 3))


def _blocks(blocks: int) -> Graph:
    """Few layers for the machines, whose cuts are dear: hardly a place to cut is out of the question."""
    return models.branchy(2, (3, 9, 12, 6, 5) if blocks > 2 else (2, 3))


_CASES = [
    _Case("as ResNet-101", models.residual, 23, [16], 50, note="published: 6 s"),
    _Case("as GNMT large", models.translation, 8, [16], 500, 100, note="published: 35 s, 2.3 GB"),
    _Case("as ResNet-50, two levels", models.residual, 13, [4, 4], 1000, note="published: 9.5 s"),
    _Case("as GNMT large, two levels", models.translation, 8, [4, 4], 60_000, note="published: not in 900 s"),
    _Case("more than Inception", _inception, 11, [16], 30_000, 256),
    _Case("two blocks of it", _blocks, 3, [16], 60_000),
    _Case("as ResNet-101, 1f1b", models.residual, 23, [4], 5000, options={"schedule": "1f1b", "micro_batches": 16}),
]


def _run(path: Path, case: _Case) -> list[float]:
    speeds = [1e9] if len(case.machines) == 1 else [1e10, 1e9]
    options = {"machines": case.machines, "bandwidths": speeds, "compression": 1.0, **(case.options or {})}
    command = [sys.executable, "-c", _PLANNED, str(path), json.dumps(options)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    figures: list[float] = json.loads(done.stdout)
    return figures


def measure(effort: Effort) -> Result:
    result = Result()
    with tempfile.TemporaryDirectory(prefix="fastdispatch-bench-") as name:
        for case in _CASES:
            path = Path(name) / "graph.txt"
            case.graph(2 if effort.quick else case.size).write(path)
            runs = [_run(path, case) for _ in range(min(effort.rounds, 3))]
            note = f"{runs[0][2]:.0f} states" + (f"; {case.note}" if case.note else "")
            result.add(case.name, [1e3 * run[0] for run in runs], "ms", case.bar, note)
            if case.memory is not None:
                result.add(f"{case.name}: memory, with Python", [run[1] for run in runs], "MB", case.memory)
    return result
