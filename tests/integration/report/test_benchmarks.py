"""The benchmarks run and print all their figures; tests do not check the figures."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

from tests import processes

BARS = {
    "calls": ["method: added cost, ours / cProfile", "method: timing=False / timed"],
    "operators": ["view: added cost, dispatch / empty Python mode"],
    "lifecycle": ["first start and stop of a process", "a later start and stop"],
    "reading": ["dump"],
    "merging": [
        f"{kind}: {name}" for kind in ("plain", "kineto") for name in ("memory, with Python", "ours / Python's json")
    ],
    "pipelines": [
        "pipeline report, the whole command",
        "partition of 2 000 layers in 16",
        "plan of 64 stages, 1 024 micro-batches",
    ],
    "planning": ["as ResNet-101", "as GNMT large", "as GNMT large: memory, with Python"],
}


def benchmarks(*arguments: object) -> subprocess.CompletedProcess[str]:
    return processes.python("-m", "benchmarks", *arguments, folder=processes.ROOT)


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> dict:
    out = tmp_path_factory.mktemp("benchmarks") / "results.json"
    only = [part for name in BARS for part in ("--only", name)]
    done = benchmarks("--quick", "--out", out, *only)
    assert done.returncode == 0, done.stderr
    assert str(out) in done.stdout.replace("\n", "")
    return json.loads(out.read_text())


def test_document_names_the_machine(document: dict) -> None:
    assert (document["format"], document["version"]) == ("fastdispatch.benchmarks", 1)
    assert document["machine"]["python"] == sys.version.split()[0]
    assert document["machine"]["cores"] >= 1
    assert "torch" in document["machine"]["packages"]


@pytest.mark.parametrize("subject", BARS)
def test_figures_have_bars_and_spread(document: dict, subject: str) -> None:
    figures = {each["name"]: each for each in document["subjects"][subject]["figures"]}
    assert [name for name, each in figures.items() if each["bar"] is not None and name in BARS[subject]] == BARS[
        subject
    ]
    for each in figures.values():
        assert each["low"] <= each["value"] <= each["high"]
        assert each["met"] is (None if each["bar"] is None else each["value"] <= each["bar"])


def test_sizes_are_real(document: dict) -> None:
    (recording,) = (each for each in document["subjects"]["reading"]["figures"] if each["name"] == "recording")
    assert recording["value"] > 0
    assert "contexts" in recording["note"]


def test_calls_import_no_torch() -> None:
    program = "import sys, benchmarks.calls; assert 'torch' not in sys.modules"
    processes.python_program("-c", program, folder=processes.ROOT)


def test_failure_is_one_line(tmp_path: Path) -> None:
    done = benchmarks(
        "--quick", "--only", "lifecycle", "--python", tmp_path / "no-python", "--out", tmp_path / "x.json"
    )
    assert done.returncode == 2
    assert "no-python" in done.stderr.splitlines()[-1]
