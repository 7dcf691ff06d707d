"""A training with ``fully_shard`` of PyTorch reads right: losses, steps, phases, modules, the first row."""

import subprocess
import sys
from pathlib import Path

import pytest

import fastdispatch
from tests import commands, processes

pytestmark = pytest.mark.torch

PROGRAM = Path(__file__).parents[2] / "isolated" / "fully_sharded.py"
PHASES = ("forward", "backward", "optimizer")


def start(folder: Path, *record: str) -> subprocess.Popen[str]:
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", str(PROGRAM)]
    return subprocess.Popen(
        [sys.executable, *record, *torchrun],
        cwd=folder,
        env=processes.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def losses(process: subprocess.Popen[str]) -> list[str]:
    output, errors = process.communicate(timeout=250)
    assert process.returncode == 0, errors
    return sorted(line for line in output.splitlines() if line.startswith("loss "))  # ranks share the pipe


def test_two_ranks(tmp_path: Path) -> None:
    running = [start(tmp_path), start(tmp_path, "-m", "fastdispatch", "run", "-o", "out")]
    plain, recorded = (losses(each) for each in running)
    assert len(plain) == 16 and recorded == plain
    trace = fastdispatch.load(tmp_path / "out")
    assert [(rank["steps"], rank["steps_source"], rank["state"]) for rank in trace.ranks] == [
        (8, "optimizer", "stopped")
    ] * 2
    for rank in trace.ranks:
        assert all(len(rank["latest_steps"][phase]) == 8 for phase in PHASES)
        assert all(min(rank["latest_steps"][phase]) > 0 for phase in PHASES)
    modules = dict(zip(trace.modules["path"], trace.modules["class"], strict=True))
    blocks = {f"blocks.{i}": "FSDPLinear" for i in range(3)}
    assert modules == {"": "FSDPNet", "blocks": "Sequential", "head": "Linear"} | blocks
    rows = commands.out("report", tmp_path / "out", "--sort", "total", "--top", "5").split("   where\n")[1].splitlines()
    assert [row.rpartition("fully_sharded.py:[]:")[2] for row in rows[:2]] == ["<module>", "main"], rows
