"""Devices without timers: recording, report, doctor and ``gpu="require"`` name them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import fastdispatch
from fastdispatch.record import doctor, gpu
from tests import commands, processes

pytestmark = pytest.mark.torch
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
    assert "gpu_missing" not in fastdispatch.load(tmp_path / "out").meta
    assert commands.document("report", tmp_path / "out")["gpu_missing"] == ""


class Torch:
    """The parts of a PyTorch for another device."""

    def __init__(self, *, initialised: bool) -> None:
        self.accelerator = self.xpu = self
        self.type = "xpu"
        self.is_initialized = lambda: initialised

    def current_accelerator(self, check_available: bool) -> Torch:
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
