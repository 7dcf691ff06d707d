"""Sizes of recordings. The figures repeat exactly except for the set of imported modules."""

import subprocess
import sys
import tempfile
from pathlib import Path

import fastdispatch
from benchmarks import peers
from benchmarks.figures import Result
from benchmarks.measure import Effort

HERE = Path(__file__).parent
EXAMPLE = HERE.parent / "docs" / "examples" / "gpt" / "pretrain.py"
MB = 1e6

_EXAMPLE_MB, _TRANSFORMERS_MB, _BOUNDED_MB = 16, 64, 2
_CHUNK_MB = 256 * 1024 / MB  # the largest chunk (FD_POOL_LARGEST)


def _recorded(folder: str, program: Path, *arguments: object) -> Path:
    """Run a program under `fastdispatch run`, in one process; return its recording."""
    out = Path(folder) / "out"
    command = [sys.executable, "-m", "fastdispatch", "run", "--out", out, program, *arguments]
    subprocess.run([str(part) for part in command], check=True, stdout=subprocess.DEVNULL)
    return out / "rank00000.fd"


def _size(program: Path, *arguments: object) -> tuple[float, str]:
    """Megabytes of the recording, and what is in it."""
    with tempfile.TemporaryDirectory(prefix="fastdispatch-bench-") as folder:
        path = _recorded(folder, program, *arguments)
        trace = fastdispatch.load(path)
        names = trace.nodes["name"]
        nodes, calls = trace.contexts["node"], trace.contexts["calls"]
        overflow = sum(count for node, count in zip(nodes, calls, strict=True) if names[node] == "<overflow>")
        note = f"{len(names)} nodes, {len(nodes)} contexts, {overflow} calls without room"
        return path.stat().st_size / MB, note


def _programs(result: Result, effort: Effort) -> None:
    size, note = _size(EXAMPLE, "--steps", effort.scaled(100))
    result.add("example GPT, 100 steps", [size], "MB", _EXAMPLE_MB, note)
    if not peers.installed("transformers"):
        result.skip("GPT-2 of transformers", "transformers is not installed")
    elif not effort.quick:  # slow imports
        size, note = _size(HERE / "programs" / "gpt2.py")
        result.add("GPT-2 of transformers, 20 steps", [size], "MB", _TRANSFORMERS_MB, note)


def _growth(result: Result, effort: Effort) -> None:
    steps = HERE / "programs" / "steps.py"
    few, note = _size(steps, effort.scaled(100))
    many, _ = _size(steps, effort.scaled(10_000))
    result.add("100 short steps", [few], "MB", None, note)
    result.add("10 000 steps more than 100", [many - few], "MB", _CHUNK_MB, "bar: one chunk")


def _bounded(result: Result, effort: Effort) -> None:
    for program, count, name in (("threads.py", 2_000, "short threads"), ("ranges.py", 1_000, "changing range names")):
        size, note = _size(HERE / "programs" / program, effort.scaled(count))
        result.add(f"{count:,} {name}".replace(",", " "), [size], "MB", _BOUNDED_MB, note)


def measure(effort: Effort) -> Result:
    result = Result()
    _programs(result, effort)
    _growth(result, effort)
    _bounded(result, effort)
    return result
