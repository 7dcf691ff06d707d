"""Findings that need a GPU, on the stand-in CUDA runtime of ``tests/standin``."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import fastdispatch
from fastdispatch.detectors import Findings, limits
from fastdispatch.detectors.rank_work import clocks_of_ranks, slow_clock
from tests import processes, standin

pytestmark = [pytest.mark.torch, pytest.mark.alone, standin.needs_compiler]


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = standin.build(tmp_path_factory.mktemp("standin"))
    processes.run("gpu_findings.py", folder, folder / "out")
    return folder / "out"


def of(found: Findings, id: str) -> list[str]:
    return [each.title for each in found if each.id == id]


def undecided(found: Findings) -> dict[str, str]:
    return {each.id: each.reason for each in found.not_decided}


#: Findings about a GPU that waits.
WAITS = {"launch-bound", "host-sync", "input-wait", "device-copy", "host-code"}


@pytest.mark.parametrize(
    ("name", "id", "function"),
    [
        ("late", "host-code", "late_step"),
        ("reads", "host-sync", "_item"),
        ("waits", "host-sync", "waiting_step"),
        ("input", "input-wait", "load_batch"),
        ("copies", "device-copy", "_to_device"),
    ],
)
def test_the_cause_of_idle_time_is_the_first_finding(out: Path, name: str, id: str, function: str) -> None:
    first = fastdispatch.findings(out / name).findings[0]
    assert (first.id, first.where.key) == (id, f"gpu_findings.py:[]:{function}")


def test_idle_time_is_that_of_the_function_that_sleeps(out: Path) -> None:
    trace = fastdispatch.load(out / "input")
    known = trace.ranks[0]["meta"]["gpu_kernels"]
    (row,) = (row for row, node in enumerate(trace.contexts["node"]) if trace.nodes["name"][node] == "load_batch")
    assert trace.contexts["gpu_starved"][row] > known["busy_steps"] * 4_900_000  # of 5 ms
    (device,) = known["devices"]
    assert sum(device.values()) == device["device"] + 2 * device["window_ns"]


@pytest.mark.parametrize("name", ["busy", "read at the end", "hidden input", "pinned copies"])
def test_a_host_that_waits_for_a_busy_gpu_costs_nothing(out: Path, name: str) -> None:
    assert not WAITS & {each.id for each in fastdispatch.findings(out / name)}


@pytest.mark.parametrize("name", ["float32", "float32 of CUTLASS", "tf32", "tf32 of CUTLASS", "busy"])
def test_products_without_tensor_cores_are_the_first_finding(out: Path, name: str) -> None:
    found = fastdispatch.findings(out / name)
    if not name.startswith("float32"):
        assert of(found, "single-precision") == []
        return
    first = found.findings[0]
    assert (first.id, first.where.key) == ("single-precision", "gpu_findings.py:[]:_work")
    assert first.evidence["float32_share"] >= limits.SINGLE_SHARE


def rank_with_clock(rank: int, clock: int, reasons: dict[str, int]) -> dict[str, Any]:
    device = {"device": 0, "looks": 40, "idle": 0, "clock_mhz": clock, "highest_mhz": 1980, "reasons": reasons}
    return {"rank": rank, "meta": {"gpu_health": {"devices": [device | {"power_mw": 0, "limit_mw": 0}]}}}


def test_a_slow_rank_has_the_clock_of_its_gpu() -> None:
    steps: Any = SimpleNamespace(ranks=[rank_with_clock(0, 1980, {}), rank_with_clock(1, 1200, {"power_cap": 38})])
    printed = "; its GPU: clock 1 200 of 1 980 MHz, power cap, other ranks 1 980 MHz"
    assert slow_clock(steps, 1, [0]).replace("\u202f", " ") == printed
    assert slow_clock(steps, 0, [1]) == ""
    assert clocks_of_ranks(steps) == {"0": 1980, "1": 1200}
    steps.ranks[0]["meta"] = {}
    assert slow_clock(steps, 1, [0]) == ""  # the clocks of the others are not known


def test_kernels_of_low_intensity_are_found(out: Path) -> None:
    """A chain of ten operators with one FLOP per element takes ten kernels of 5 ms."""
    found = fastdispatch.findings(out / "low intensity")
    (each,) = [each for each in found if each.id == "low-intensity"]
    assert each.where.key == "gpu_findings.py:[]:chain"
    assert each.evidence["ns_per_step"] == 50_000_000
    assert (each.evidence["flops_per_step"], each.evidence["bytes_per_step"]) == (40, 160)
    assert "50 ms of kernels or " in each.proof and "at 800 FLOP/s and 3.2 kB of inputs per second" in each.proof
    assert of(fastdispatch.findings(out / "high intensity"), "low-intensity") == []


def test_a_gpu_that_waits_for_launches_is_found(out: Path) -> None:
    found = fastdispatch.findings(out / "late")
    (each,) = [each for each in found if each.id == "launch-bound"]
    assert each.evidence["starved_share"] >= limits.STARVED_SHARE
    assert each.where.file == "gpu_findings.py"


def test_a_busy_gpu_is_not(out: Path) -> None:
    found = fastdispatch.findings(out / "busy")
    assert of(found, "launch-bound") == of(found, "allocator-retry") == []
    assert not {"launch-bound", "allocator-retry"} & set(undecided(found))
    assert undecided(found)["memory-growth"] == "memory of the GPU is not recorded"


def test_retries_of_the_allocator_are_found(out: Path) -> None:
    found = fastdispatch.findings(out / "retries")
    (each,) = [each for each in found if each.id == "allocator-retry"]
    assert each.evidence == {"retries": {0: 12}}
    assert fastdispatch.load(out / "retries").meta["gpu_allocator"] == {
        "devices": [{"device": 0, "retries": 12, "reserved": 4 << 20}]
    }
    killed = out / "retries without an end"
    assert fastdispatch.load(killed).meta["gpu_allocator"] == {"devices": [{"device": 0}]}
    assert undecided(fastdispatch.findings(killed))["allocator-retry"] == "the recording did not end"
    assert (each.severity, each.ranks) == ("critical", [0])


def test_an_allocator_without_statistics_is_not_decided(out: Path) -> None:
    assert undecided(fastdispatch.findings(out / "unknown"))["allocator-retry"] == (
        "PyTorch's allocator of GPU memory was not used"
    )
