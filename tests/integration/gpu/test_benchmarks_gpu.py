"""benchmarks/gpu: reports a missing GPU, and prints all its figures on the stand-in for the CUDA runtime."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests import processes, standin

pytestmark = [
    pytest.mark.torch,
    pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler for the stand-in"),
]


def test_its_figures(tmp_path: Path) -> None:
    printed = json.loads(processes.run("gpu_benchmark.py", standin.build(tmp_path)).stdout.splitlines()[-1])
    assert printed["without"]["figures"] == []
    assert printed["without"]["skipped"] == ["gpu: PyTorch has no GPU to use here (torch.cuda.is_available() is false)"]
    figures = {figure["name"]: figure for figure in printed["with"]["figures"]}
    sides = ("no marks", "1 step in 100", "modules, every step", "operators, every step")
    for name in ("step: untraced", *(f"step: {side} / untraced" for side in sides)):
        assert figures[name]["value"] > 0
    assert "drain: a mark" in figures
    assert figures["calls added to a step: cudaEventRecord"]["value"] > 50  # two per operator
    for name in ("cudaDeviceSynchronize", "cudaStreamSynchronize", "cudaEventSynchronize"):
        waits = figures[f"calls added to a step: {name}"]
        assert (waits["value"], waits["bar"], waits["met"]) == (0, 0, True)
    assert printed["with"]["skipped"] == ["intervals beside kernels: torch.profiler saw no kernel"]
