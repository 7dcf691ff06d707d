"""A training with ``fully_shard`` of PyTorch reads right: losses, steps, phases, modules, the first row."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import fastdispatch
from tests import commands, processes
from tests.conftest import EXAMPLES

pytestmark = pytest.mark.torch

PROGRAM = Path(__file__).parents[2] / "isolated" / "fully_sharded.py"
PHASES = ("forward", "backward", "optimizer")


def start(folder: Path, *record: str) -> subprocess.Popen[str]:
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", str(PROGRAM)]
    return processes.popen(sys.executable, *record, *torchrun, folder=folder)


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


# -- docs/examples/ddp_mlp ---------------------------------------------------------------------------------------------


pytest.importorskip("torch")


def test_four_ranks(tmp_path: Path) -> None:
    done = subprocess.run(
        [EXAMPLES / "ddp_mlp" / "run.sh", tmp_path, sys.executable],
        env=processes.environment(OMP_NUM_THREADS="1"),
        text=True,
        capture_output=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "4 ranks: 5 collectives on all ranks of their groups" in done.stdout
    assert " 0 mismatches" in done.stdout
    assert json.loads((tmp_path / "comm_groups.json").read_text()) == {"0": [0, 1, 2, 3]}
    for rank in range(4):
        nodes = json.loads((tmp_path / f"et_{rank}.json").read_text())["nodes"]
        names = [node["name"] for node in nodes]
        assert names.count("c10d::allreduce_") == names.count("gloo:all_reduce") == 3  # one bucket per step
        assert sum(name.startswith("ProfilerStep#") for name in names) == 3
        timeline = json.loads((tmp_path / f"timeline_{rank}.json").read_text())["traceEvents"]
        assert sum(event["name"] == "aten::addmm" and event["ph"] == "X" for event in timeline) == 6
    merged = json.loads((tmp_path / "timeline.json").read_text())["traceEvents"]
    assert sum(event["name"] == "aten::addmm" and event["ph"] == "X" for event in merged) == 24
    assert "aten::addmm" in (tmp_path / "callgraph.svg").read_text()
    assert "gloo:all_reduce" in (tmp_path / "trace_0.svg").read_text()
