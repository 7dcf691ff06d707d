"""Run the blocks of docs/start/usage.md in order in one folder."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests import processes

ROOT = Path(__file__).parents[3]
DOCUMENT = (ROOT / "docs" / "start" / "usage.md").read_text()
BLOCKS = re.findall(r"^```(\w+)(?: file=(\S+))?\n(.*?)^```$", DOCUMENT, re.M | re.S)

pytestmark = pytest.mark.torch


def programs_in(folder: Path) -> dict[str, str]:
    """An environment with `python`, `torchrun` and `fastdispatch` of this interpreter, installed or not."""
    commands = {"python": "", "torchrun": "-m torch.distributed.run", "fastdispatch": "-m fastdispatch"}
    for name, arguments in commands.items():
        (folder / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {arguments} "$@"\n')
        (folder / name).chmod(0o755)
    (folder / "sitecustomize.py").write_text((ROOT / "python" / "fastdispatch-startup.pth").read_text())
    path = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
    return processes.environment(PATH=f"{folder}{os.pathsep}{os.environ['PATH']}", PYTHONPATH=path)


def test_every_block(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    work = tmp_path / "work"
    work.mkdir()
    environment = programs_in(tmp_path / "bin")
    kinds = []
    for kind, file, text in BLOCKS:
        kinds.append("file" if file else kind)
        if file:
            (work / file).write_text(text)
            continue
        command = {"sh": ["bash", "-euo", "pipefail", "-c"], "python": [sys.executable, "-c"]}[kind]
        path = (
            environment["PYTHONPATH"]
            if kind == "sh"
            else os.pathsep.join([str(work), os.environ.get("PYTHONPATH", "")])
        )
        done = subprocess.run(
            [*command, text],
            cwd=work,
            env=environment | {"PYTHONPATH": path},
            text=True,
            capture_output=True,
            timeout=120,
        )
        assert done.returncode == 0, f"{text}\n{done.stdout}\n{done.stderr}"
        assert "Warning" not in done.stderr, done.stderr
        assert "not recording" not in done.stderr, done.stderr
    assert {"file", "sh", "python"} == set(kinds)
    assert (work / "out-env").is_dir()


def test_every_option_is_documented() -> None:
    """The page names all arguments of CallGraph and all variables of the environment."""
    sources = "".join(path.read_text() for path in (ROOT / "python" / "fastdispatch").rglob("*.py"))
    for variable in set(re.findall(r"\bFASTDISPATCH_?[A-Z_]*\b", sources)):
        assert f"`{variable}`" in DOCUMENT, variable
    callgraph = (ROOT / "python" / "fastdispatch" / "record" / "callgraph.py").read_text()
    body = callgraph.split("def __init__(")[1].split(") -> None:")[0]
    for option in re.findall(r"^        (\w+):", body, re.M):
        assert f"{option}=" in DOCUMENT or f"`{option}`" in DOCUMENT, option
