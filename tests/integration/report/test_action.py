"""The steps of action.yml, run by a shell as a runner does."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests import processes
from tests.unit.report.call_trees import Dump
from tests.unit.report.test_diff import AFTER, BEFORE, BROKEN, KEPT

yaml = pytest.importorskip("yaml")

ACTION = yaml.safe_load((processes.ROOT / "action.yml").read_text())


def compare(folder: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
    """Run the step that compares, with the inputs of a workflow in its environment."""
    given = {name: each.get("default", "") for name, each in ACTION["inputs"].items()} | inputs
    step = next(each for each in ACTION["runs"]["steps"] if each.get("id") == "gate")
    values = {
        name: re.sub(r"\$\{\{ inputs\.(\w+) \}\}", lambda found: given[found[1]], text)
        for name, text in step["env"].items()
    }
    (folder / "python").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    (folder / "python").chmod(0o755)
    environment = processes.environment(
        PATH=f"{folder}{os.pathsep}{os.environ['PATH']}",
        RUNNER_TEMP=str(folder),
        GITHUB_OUTPUT=str(folder / "output"),
        GITHUB_STEP_SUMMARY=str(folder / "summary"),
        **values,
    )
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    Dump(BEFORE).write(tmp_path / "before.json")
    Dump(AFTER).write(tmp_path / "after recording.json")
    (tmp_path / "kept.toml").write_text(KEPT)
    (tmp_path / "broken.toml").write_text(BROKEN)
    return tmp_path


@pytest.mark.parametrize(
    ("inputs", "status", "title"),
    [
        ({"budget": "kept.toml"}, 0, "gate passed"),
        ({"budget": "broken.toml"}, 1, "5 limits exceeded"),
        ({}, 0, "comparison"),
        ({"options": "--all --rank 0"}, 0, "comparison"),
    ],
)
def test_the_summary_and_the_status(inputs: dict[str, str], status: int, title: str, folder: Path) -> None:
    done = compare(folder, baseline="before.json", recording="after recording.json", **inputs)
    assert done.returncode == status, done.stderr
    assert (folder / "summary").read_text().splitlines()[0] == f"### fastdispatch: {title}"
    (line,) = (folder / "output").read_text().splitlines()
    assert Path(line.removeprefix("summary=")).read_text() == (folder / "summary").read_text()


def test_bad_input_fails_the_step(folder: Path) -> None:
    done = compare(folder, baseline="absent.json", recording="after recording.json")
    assert done.returncode == 2
    assert done.stderr.startswith("fastdispatch: absent.json: ")


def test_every_input_is_described_and_used() -> None:
    text = (processes.ROOT / "action.yml").read_text()
    for name, each in ACTION["inputs"].items():
        assert each["description"]
        assert f"inputs.{name}" in text
