"""Run the pages: blocks of docs/start/usage.md in order in one folder, commands of the guides section by section."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from fastdispatch.cli import main
from fastdispatch.record.options import Options
from tests import processes, warm

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


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder where the commands work."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "work"


def test_every_block(work: Path) -> None:
    environment = programs_in(work.parent / "bin")
    kinds = []
    for number, (kind, file, text) in enumerate(BLOCKS):
        kinds.append("file" if file else kind)
        if kind == "python":
            (work / (file or f"block{number}.py")).write_text(text)
        commands = [] if file else text.splitlines() if kind == "sh" else [f"python block{number}.py"]
        for command in commands:
            assert "Warning" not in execute(command, work, environment)
    assert {"file", "sh", "python"} == set(kinds)
    assert (work / "out-env").is_dir()


def test_every_option_is_documented() -> None:
    """The page names all arguments of CallGraph and all variables of the environment."""
    sources = "".join(path.read_text() for path in (ROOT / "python" / "fastdispatch").rglob("*.py"))
    for variable in set(re.findall(r"\bFASTDISPATCH_?[A-Z_]*\b", sources)):
        assert f"`{variable}`" in DOCUMENT, variable
    for option in Options.__annotations__:
        assert f"{option}=" in DOCUMENT or f"`{option}`" in DOCUMENT, option


GUIDES = ROOT / "docs" / "guides"
TOOLS = (GUIDES / "coming-from.md").read_text()
#: By title.
SECTIONS = {
    text.partition("\n")[0]: text
    for page in (TOOLS, (GUIDES / "tasks.md").read_text())
    for text in page.split("\n## ")[1:]
}

#: Appended to programs of several ranks: a gloo thread alive at the end of the interpreter can abort the process.
ENDING = """
import atexit, os
atexit._run_exitfuncs()
os._exit(0)
"""

READS = re.compile(
    r"fastdispatch (report|findings|export|svg|html|diff|timeline|et|top|stacks|merge|anonymize"
    r"|pipeline (optimize|plan|report)) [^|;&$>]*$"
)
RECORDS = re.compile(r"(python|fastdispatch (run|pipeline)) [^|;&$>]*$")


def commands(section: str) -> list[str]:
    """The blocks of shell commands, and the commands in the second column of tables, in their order."""
    found = []
    for block, row in re.findall(r"^```sh\n(.*?)^```$|^(\|[^\n]*\|)$", section, re.M | re.S):
        cells = row.split(" | ")
        spans = re.findall(r"`([^`]+)`", cells[1]) if len(cells) == 3 else []
        found += block.splitlines() if block else [span for span in spans if "fastdispatch " in span]
    return found


def execute(command: str, work: Path, environment: dict[str, str]) -> str:
    """Run a command in ``work`` and return its standard error: those that only read recordings in this process, single
    processes in one that has imported PyTorch, which takes a tenth of the time."""
    words = shlex.split(command, comments=True)
    if READS.match(command):
        assert main(words[1:]) == 0, command
        return ""
    if RECORDS.match(command) and "torchrun" not in words:
        program = [str(processes.ISOLATED / "in_folder.py"), str(work), *words]
        started = warm.start(processes.TORCH, program, environment)
    else:
        shell = ["bash", "-euo", "pipefail", "-c", command]
        started = subprocess.Popen(shell, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    output, errors = started.communicate(timeout=600)
    assert started.returncode == 0, f"{command}\n{output}\n{errors}"
    assert "not recording" not in errors, errors
    return errors


@pytest.mark.parametrize("title", SECTIONS)
def test_section(title: str, work: Path) -> None:
    environment = programs_in(work.parent / "bin")
    files = re.findall(r"^```\w+ file=(\S+)\n(.*?)^```$", SECTIONS[title], re.M | re.S)
    for name, text in [(name, text) for _, name, text in BLOCKS if name == "train.py"] + files:
        (work / name).parent.mkdir(exist_ok=True)
        (work / name).write_text(text + ENDING if "init_process_group" in text else text)
    listed = commands(SECTIONS[title])
    assert listed
    for command in listed:
        execute(command, work, environment)


def test_each_row_has_a_command() -> None:
    """Every row of a table of tools has a command."""
    rows = [row for row in re.findall(r"^\|.*\|$", TOOLS, re.M) if row[:4] not in ("| be", "|---")]
    assert rows and all("`fastdispatch " in row.split(" | ")[1] for row in rows)
