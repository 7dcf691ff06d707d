"""Only stop() waits for the GPU, on the stand-in for the CUDA runtime."""

import json
from pathlib import Path
from typing import Any

import pytest

import fastdispatch
from tests import processes, standin

pytestmark = [pytest.mark.torch, standin.needs_compiler]

CALLS = 3  # of the operator with a kernel of an hour
PATIENCE = 2000  # ms, one sleep each


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return standin.build(tmp_path_factory.mktemp("standin"))


@pytest.fixture(scope="module")
def printed(folder: Path) -> dict[str, Any]:
    done = processes.run("gpu_windows.py", folder, folder / "out", LD_PRELOAD=str(folder / "libcudart.so.13"))
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def unfinished(folder: Path, name: str) -> int:
    trace = fastdispatch.load(folder / "out" / name)
    assert trace.ranks[0]["state"] == "stopped"
    assert trace.ranks[0]["meta"]["gpu_steps"] > 0
    count: int = trace.ranks[0]["counters"]["gpu_unfinished"]
    return count


def test_the_end_of_a_window_waits_for_nothing_and_loses_nothing(printed: dict[str, Any], folder: Path) -> None:
    run = printed["windows"]
    assert run["ready"] == [{"first": 0}, {"first": 0, "second": 0}, {"first": 0, "second": 0, "third": 0}]
    assert run["slept_in_hooks"] == 0
    assert run["asked"] < 100  # one query per step, and those of anchors
    assert run["last"] == {"first": 1, "second": 1, "third": 1}
    assert unfinished(folder, "windows") == 0
    trace = fastdispatch.load(folder / "out" / "windows")
    assert trace.contexts["gpu_calls"].count(1) == sum(trace.contexts["gpu_calls"])
    assert trace.ranks[0]["meta"]["gpu_steps"] == 3


@pytest.mark.parametrize(("name", "lost"), [("freed", 0), ("interrupted", CALLS)])
def test_stop_waits_without_the_gil(printed: dict[str, Any], folder: Path, name: str, lost: int) -> None:
    """Until another thread lets the GPU continue; an interrupt ends the wait, and the recording is complete."""
    assert 0 < printed[name]["slept"] < PATIENCE
    assert printed[name].get("interrupted", True)
    assert unfinished(folder, name) >= lost and (lost or unfinished(folder, name) == 0)


@pytest.mark.parametrize(("name", "slept"), [("patient", PATIENCE), ("left", PATIENCE), ("raised", 0), ("in_error", 0)])
def test_stop_waits_for_two_seconds_at_most_and_counts_losses(
    printed: dict[str, Any], folder: Path, name: str, slept: int
) -> None:
    """An exception or an error is not held up."""
    assert printed[name]["slept"] == slept
    assert unfinished(folder, name) >= CALLS
    assert printed["in_error"]["error"] == 700  # still the program's


def test_a_program_that_fails_ends_at_once(folder: Path) -> None:
    """The recording stops at exit, after the traceback."""
    process = processes.start(
        "gpu_windows.py", folder, folder / "out", "uncaught", LD_PRELOAD=str(folder / "libcudart.so.13")
    )
    output, errors = process.communicate(timeout=120)
    assert process.returncode == 1
    assert errors.splitlines()[-1] == "ValueError: planted"
    assert json.loads(output) == {"uncaught": {"slept": 0}}
    assert unfinished(folder, "uncaught") >= CALLS
