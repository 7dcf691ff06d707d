"""Run the commands of the guides for tasks and for users of other tools, section by section."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest

from fastdispatch.cli import main
from tests.unit.tree.test_usage import BLOCKS, ROOT, programs_in

GUIDES = ROOT / "docs" / "guides"
TOOLS = (GUIDES / "coming-from.md").read_text()
#: By title.
SECTIONS = {
    text.partition("\n")[0]: text
    for page in (TOOLS, (GUIDES / "tasks.md").read_text())
    for text in page.split("\n## ")[1:]
}

READS = re.compile(r"fastdispatch (report|findings|export|svg|html|diff|timeline|et|top|stacks) [^|;&$*?]*$")

pytestmark = pytest.mark.torch


def commands(section: str) -> list[str]:
    """The blocks of shell commands, and the commands in the second column of tables, in their order."""
    found = []
    for block, row in re.findall(r"^```sh\n(.*?)^```$|^(\|[^\n]*\|)$", section, re.M | re.S):
        cells = row.split(" | ")
        spans = re.findall(r"`([^`]+)`", cells[1]) if len(cells) == 3 else []
        found += block.splitlines() if block else [span for span in spans if "fastdispatch " in span]
    return found


def execute(command: str, work: Path, environment: dict[str, str]) -> None:
    """Run a command in ``work``: those that only read recordings in this process, which takes a tenth of the time."""
    if READS.match(command):
        assert main(shlex.split(command)[1:]) == 0, command
        return
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command],
        cwd=work,
        env=environment,
        text=True,
        capture_output=True,
        timeout=600,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    assert "not recording" not in done.stderr, done.stderr


@pytest.mark.parametrize("title", SECTIONS)
def test_section(title: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bin").mkdir()
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    environment = programs_in(tmp_path / "bin")
    files = re.findall(r"^```\w+ file=(\S+)\n(.*?)^```$", SECTIONS[title], re.M | re.S)
    for name, text in [(name, text) for _, name, text in BLOCKS if name == "train.py"] + files:
        (work / name).parent.mkdir(exist_ok=True)
        (work / name).write_text(text)
    listed = commands(SECTIONS[title])
    assert listed
    for command in listed:
        execute(command, work, environment)


def test_each_row_has_a_command() -> None:
    """Every row of a table of tools has a command."""
    rows = [row for row in re.findall(r"^\|.*\|$", TOOLS, re.M) if row[:4] not in ("| be", "|---")]
    assert rows and all("`fastdispatch " in row.split(" | ")[1] for row in rows)
