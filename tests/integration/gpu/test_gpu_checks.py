"""``make test-gpu``, ``make bench-gpu``, benchmarks/gpu: without a GPU, and on the stand-in CUDA runtime."""

import json
import sys
from pathlib import Path

import pytest

import fastdispatch
from fastdispatch.record import doctor, gpu
from tests import commands, processes, standin

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


# -- devices without timers --------------------------------------------------------------------------------------------


SENTENCE = "CPU only: no timers for devices of type npy"


def test_a_device_without_timers_is_named(tmp_path: Path) -> None:
    pytest.importorskip("torch.utils.backend_registration")
    printed = processes.run_warm("other_device.py", tmp_path / "out")
    assert printed.startswith(f"gpu='require': {SENTENCE}: import a PyTorch built for CUDA or ROCm first")
    assert fastdispatch.load(tmp_path / "out").meta["gpu_missing"] == SENTENCE
    assert SENTENCE in commands.out("report", tmp_path / "out").splitlines()
    assert commands.document("report", tmp_path / "out")["gpu_missing"] == SENTENCE


def test_no_device_time_for_the_cpu_alone(tmp_path: Path) -> None:
    with fastdispatch.CallGraph(tmp_path / "out") as graph:
        graph.step()
    trace = fastdispatch.load(tmp_path / "out")
    assert trace.ranks[0]["gpu"]["context"] == []
    assert not {"gpu_missing", "gpu_devices"} & set(trace.meta)
    assert commands.document("report", tmp_path / "out")["gpu_missing"] == ""


class Torch:
    """The parts of a PyTorch for another device."""

    def __init__(self, *, initialised: bool) -> None:
        self.accelerator = self.xpu = self
        self.type = "xpu"
        self.is_initialized = lambda: initialised

    def current_accelerator(self, check_available: bool) -> "Torch":
        return self


@pytest.mark.parametrize("initialised", [True, False])
def test_an_unused_device_is_not_named_in_a_recording(monkeypatch: pytest.MonkeyPatch, initialised: bool) -> None:
    monkeypatch.setitem(sys.modules, "torch", Torch(initialised=initialised))  # type: ignore[arg-type]
    assert gpu.why_missing() == ("CPU only: no timers for devices of type xpu" if initialised else "")
    check = doctor._gpu(Path())
    assert (check.status, check.text) == ("missing", "CPU only: no timers for devices of type xpu")


def test_a_used_gpu_without_runtime_is_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu, "is_in_use", lambda: True)
    assert gpu.why_missing() == "no CUDA or HIP runtime is loaded: no GPU times"
    monkeypatch.setattr(gpu._core, "gpu_runtime", lambda: "libamdhip64.so.6")
    monkeypatch.setattr(gpu._core, "finds_gpu_stream", lambda: False)
    assert gpu.why_missing() == "PyTorch has no known function for its current stream: no GPU times"
