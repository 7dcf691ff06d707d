"""docs/examples/ddp_mlp: one command trains four ranks and writes their traces, which agree with each other."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests import processes
from tests.conftest import EXAMPLES

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
