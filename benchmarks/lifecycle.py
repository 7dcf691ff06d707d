"""What a recording costs before and after: import, start, stop."""

import subprocess
import sys
import tempfile
from pathlib import Path
from time import process_time

import torch

import fastdispatch
from benchmarks.figures import Result
from benchmarks.measure import Effort, quiet

PROGRAM = Path(__file__).parent / "programs" / "start_stop.py"
_START_STOP_MS = 50

_IMPORT = "from time import perf_counter as now; begin = now(); import fastdispatch; print((now() - begin) * 1e3)"


def _child(*arguments: str) -> float:
    """The number that a fresh process prints."""
    done = subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.PIPE, text=True)
    return float(done.stdout)


def _again() -> float:
    """Milliseconds (processor time) of a later start and stop: the self-test and the clock are done."""
    with tempfile.TemporaryDirectory(prefix="fastdispatch-bench-") as folder:
        begin = process_time()
        with fastdispatch.CallGraph(folder):
            pass
        return (process_time() - begin) * 1e3


def measure(effort: Effort) -> Result:
    result = Result()
    torch.set_num_threads(1)
    first = [_child(str(PROGRAM)) for _ in range(effort.rounds)]
    result.add("first start and stop of a process", first, "ms", _START_STOP_MS)
    with quiet():
        _again()
        result.add("a later start and stop", [_again() for _ in range(effort.rounds)], "ms", _START_STOP_MS)
    result.add("import fastdispatch", [_child("-c", _IMPORT) for _ in range(effort.rounds)], "ms")
    return result
