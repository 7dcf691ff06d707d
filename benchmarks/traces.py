"""Execution traces recorded, linked, converted, beside PyTorch's observer and the public tools for Chakra.

`make test-consumers` installs the tools.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks import peers, training
from benchmarks.figures import Result
from benchmarks.measure import Effort, Side, interleave, ratios
from tests.chakra.pairs import write_pair

_ROOT = Path(__file__).parent.parent
_OPERATORS, _STEPS = 50_000, 20
_BAR, _MEMORY_BAR = 1 / 50, 200  # share of their time; MB
_NODE_BAR = 2000  # ns per node of a .et: 500 000 per second

# Run the commands of the argument; print processor time (s) and the maximum memory of one (MB).
_MEASURED = """
import json, resource, subprocess, sys
for command in json.loads(sys.argv[1]):
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([used.ru_utime + used.ru_stime, used.ru_maxrss / 1024]))
"""
_LINK = "import sys; from fastdispatch._core import et_link; et_link(*sys.argv[1:])"
_CONVERT = "import sys; from fastdispatch._core import et_convert; et_convert(*sys.argv[1:])"
_READ = "import sys; from fastdispatch._core import et_info; et_info(*sys.argv[1:])"


def _tools() -> Path | None:
    """The folder of the public tools, as ``make test-consumers`` makes it."""
    folder = Path(os.environ.get("CHAKRA", _ROOT / ".venv" / "chakra" / "bin")).absolute()
    return folder if (folder / "chakra_converter").is_file() else None


def _run(*commands: list[object]) -> tuple[float, float]:
    argument = json.dumps([list(map(str, command)) for command in commands])
    done = subprocess.run([sys.executable, "-c", _MEASURED, argument], check=True, capture_output=True, text=True)
    seconds, megabytes = json.loads(done.stdout.splitlines()[-1])
    return seconds, megabytes


def _public(tools: Path, et: Path, kineto: Path) -> tuple[float, float]:
    linked, log = et.with_name("theirs.json"), et.with_name("theirs.log")
    link = ["--rank", 0, "--chakra-host-trace", et, "--chakra-device-trace", kineto, "--output-file", linked]
    convert = ["--log-filename", log, "PyTorch", "--input", linked, "--output", et.with_name("theirs.et")]
    return _run([tools / "chakra_trace_link", *link], [tools / "chakra_converter", *convert])


def _recording(result: Result, effort: Effort) -> None:
    """Cost of a recorded step of the example GPT. Each turn has its own recording, because operands need room."""
    step = training._step(batch=1, context=16, width=32, heads=2)
    sides: dict[str, Side] = {
        "plain": peers.plain,
        "recording alone": peers.recorded(),
        "et=True": peers.recorded(et=True, max_mb=256),
        "PyTorch's observer": peers.execution_trace,
    }
    times = interleave(sides, step, effort, turns=2, repeats=6)
    for side in sides:
        if side != "plain":
            result.add(f"a step: {side} / untraced", ratios(times[side], times["plain"]), "x")


def measure(effort: Effort) -> Result:
    result = Result()
    _recording(result, effort)
    tools = _tools()
    operators = 2_000 if effort.quick else _OPERATORS
    with tempfile.TemporaryDirectory() as folder:
        et, kineto = write_pair(Path(folder), operators, _STEPS)
        made = et.with_name("ours.et")
        ours = [_run([sys.executable, "-c", _LINK, et, kineto, made]) for _ in range(effort.rounds)]
        start = [_run([sys.executable, "-c", "import fastdispatch._core"])[0] for _ in range(effort.rounds)]
        again = made.with_name("again.et")
        read = [_run([sys.executable, "-c", _READ, made])[0] for _ in range(effort.rounds)]
        write = [_run([sys.executable, "-c", _CONVERT, made, again])[0] for _ in range(effort.rounds)]
        nodes = 2 * operators
        each = [max(0.0, one - other) / nodes * 1e9 for one, other in zip(write, read, strict=True)]
        note = f"a pair of {operators} operators and as many kernels"
        result.add("link to .et", [seconds * 1e3 for seconds, _ in ours], "ms", None, note)
        result.add("  memory", [megabytes for _, megabytes in ours], "MB", _MEMORY_BAR)
        result.add("  start of Python in it", [seconds * 1e3 for seconds in start], "ms")
        result.add("write a node to .et", each, "ns", _NODE_BAR)
        if tools is None:
            result.skip("the public tools", "not installed: make test-consumers")
        else:
            seconds, megabytes = _public(tools, et, kineto)
            ratio = [one / seconds for one, _ in ours]
            result.add("  beside the public tools", ratio, "x", _BAR, f"{seconds:.1f} s and {megabytes:.0f} MB")
    return result
