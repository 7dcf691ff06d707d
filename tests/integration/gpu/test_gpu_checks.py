"""``make test-gpu``, ``make bench-gpu``, benchmarks/gpu: without a GPU, and on the stand-in CUDA runtime."""

import json
from pathlib import Path

import pytest

from tests import processes, standin

pytestmark = pytest.mark.torch
NO_GPU = "PyTorch has no GPU to use here (torch.cuda.is_available() is false)"


@pytest.mark.parametrize("module, line", [("tests.gpu", NO_GPU), ("benchmarks.gpu", f"gpu: {NO_GPU}")])
def test_without_a_gpu_they_are_skipped(module: str, line: str) -> None:
    import torch

    if torch.cuda.is_available():
        pytest.skip("a GPU is there")
    done = processes.python("-m", module, folder=processes.ROOT)
    assert (done.returncode, done.stdout) == (0, f"skipped: {line}\n"), done.stderr


@standin.needs_compiler
def test_the_checks_on_the_stand_in(tmp_path: Path) -> None:
    folder = standin.build(tmp_path)
    done = processes.python(processes.ISOLATED / "gpu_checks.py", folder, tmp_path, folder=tmp_path)
    printed = [line.split(" (")[0] for line in done.stdout.splitlines() if line.startswith(("passed", "FAILED"))]
    names = ("forms_of_gpu", "results_unchanged", "memory_stays_level", "timeline_of_a_training", "programs_of_faults")
    assert printed[:5] == [f"passed  {name}" for name in names], done.stdout + done.stderr
    rows = (tmp_path / "costs.md").read_text().splitlines()
    assert len(rows) == 11 and all(row.startswith("| GPU, ") and row.endswith(" |") for row in rows)
    assert printed[5:] == ["FAILED  broken: A check that fails."] and done.returncode == 1
    assert "GPU 0 stream 0: a slice ends after the one around it" in done.stdout


def test_kernels_belong_to_the_modules_around_their_launch() -> None:
    from tests.gpu.modules import kernel_times, row_of

    def event(cat: str, name: str, ts: float, dur: float, tid: int, correlation: int = 0) -> dict[str, object]:
        return {"cat": cat, "name": name, "ts": ts, "dur": dur, "tid": tid, "args": {"correlation": correlation}}

    events = [
        event("user_annotation", "module GPT", 0, 100, 1),
        event("user_annotation", "module blocks.*.attn", 10, 20, 1),
        event("user_annotation", "module blocks.*.attn", 40, 20, 1),
        event("user_annotation", "Optimizer.step", 200, 20, 1),
        event("cuda_runtime", "cudaLaunchKernel", 15, 2, 1, 7),
        event("cuda_driver", "cuLaunchKernelEx", 45, 2, 1, 8),
        event("cuda_runtime", "cudaMemsetAsync", 70, 2, 1, 9),
        event("cuda_runtime", "cudaLaunchKernel", 50, 2, 2, 10),
        event("kernel", "gemm", 500, 3, 70, 7),
        event("kernel", "softmax", 510, 1.5, 70, 8),
        event("gpu_memset", "Memset", 520, 0.25, 70, 9),
        event("kernel", "of another thread", 530, 8, 70, 10),
    ]
    assert kernel_times(events) == {"": 12_750, "GPT": 4_750, "blocks.*.attn": 4_500}

    import torch

    model = torch.nn.Sequential(torch.nn.Linear(1, 1))
    assert [row_of(name, model) for name, _ in model.named_modules()] == ["Sequential", "*"]
    assert row_of("blocks.12.attn.3", model) == "blocks.*.attn.*"


@standin.needs_compiler
def test_its_figures(tmp_path: Path) -> None:
    printed = json.loads(processes.run("gpu_benchmark.py", standin.build(tmp_path)).stdout.splitlines()[-1])
    assert printed["without"]["figures"] == []
    assert printed["without"]["skipped"] == ["gpu: PyTorch has no GPU to use here (torch.cuda.is_available() is false)"]
    figures = {figure["name"]: figure for figure in printed["with"]["figures"]}
    sides = ("off", "kernels", "modules, every step", "functions, every step")
    for name in ("step: untraced", *(f"step: {side} / untraced" for side in sides)):
        assert figures[name]["value"] > 0
    assert "drain: a mark" in figures
    assert figures["calls added to a step: cudaEventRecord"]["value"] > 50  # two per call
    for name in ("cudaDeviceSynchronize", "cudaStreamSynchronize", "cudaEventSynchronize"):
        waits = figures[f"calls added to a step: {name}"]
        assert (waits["value"], waits["bar"], waits["met"]) == (0, 0, True)
    assert printed["with"]["skipped"] == []
