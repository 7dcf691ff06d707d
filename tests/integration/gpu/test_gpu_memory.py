"""``measure="memory"`` on a GPU: the allocator of the stand-in for libc10_cuda, compared with a slow model."""

import json
import signal
from pathlib import Path

import pytest

import fastdispatch
from fastdispatch.measures.memory_report import DeviceReport, memory_report
from tests import commands, processes, standin

pytestmark = pytest.mark.torch


def recorded(folder: Path, end: str, status: int = 0) -> tuple[dict[str, object], list[DeviceReport]]:
    """The figures of the program's model, and the devices of the report."""
    library = standin.build(folder)
    done = processes.python(processes.ISOLATED / "gpu_memory.py", library, folder / "run", end, folder=folder)
    assert done.returncode == status, done.stderr
    return json.loads(done.stdout), memory_report(fastdispatch.load(folder / "run")).devices


def nonzero(parts: dict[str, int]) -> dict[str, int]:
    return {name: value for name, value in parts.items() if value}


@standin.needs_compiler
@pytest.mark.parametrize("end, status", [("return", 0), ("raise", 1), ("kill", -signal.SIGKILL)])
def test_the_peak_and_a_failed_allocation(tmp_path: Path, end: str, status: int) -> None:
    """Both are those of the allocator, to the byte, also in the file of a killed process; blocks from before the
    recording are a separate part."""
    model, (cpu, gpu) = recorded(tmp_path, end, status)
    assert (cpu.device, gpu.device, cpu.refused) == ("cpu", "cuda:0", None)
    assert gpu.peak == model["peak"] == sum(gpu.parts.values())
    assert gpu.at_peak.reserved == model["reserved"]
    assert gpu.refused is not None
    assert gpu.refused.parts == model["held"]
    found = (gpu.refused.failures, gpu.refused.requested, gpu.refused.reserved, gpu.refused.step)
    assert found == (1, model["requested"], model["held_reserved"], 4)
    assert gpu.refused.where.endswith("Block]:forward") or gpu.refused.where.endswith(":take")
    if end == "return":  # else the blocks of the failed call are not freed: in which phase is not known
        assert nonzero(gpu.parts) == model["parts"]


@standin.needs_compiler
def test_the_text_names_the_failure_and_who_held_what(tmp_path: Path) -> None:
    recorded(tmp_path, "kill", -signal.SIGKILL)
    lines = commands.out("report", tmp_path / "run", "--memory").splitlines()
    text = " ".join(lines)
    assert text.startswith("out of memory on cuda:0 in step 4 at gpu_memory.py:")
    assert "activations" in text and "not recorded 7 MB" in text and "1 failed allocation" in text
    table = next(line for line in lines if line.split()[:2] == ["share", "bytes"])
    assert "at failure" in table and "device" in table
    assert any("cuda:0" in line and "parameters" in line for line in lines)
    assert any(" cpu " in line and "parameters" in line for line in lines)
