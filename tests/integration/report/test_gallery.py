"""The gallery: all entries are built, and every section has the finding that its program plants."""

import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests import processes

pytest.importorskip("torch")

pytestmark = [pytest.mark.torch, pytest.mark.alone]

GALLERY = processes.ROOT / "docs" / "gallery"
PROGRAMS = processes.ROOT / "tests" / "programs"
SECTION = re.compile(r"^## [^\n]+\n.*?\]\((\w+)\.svg\)\n", re.M | re.S)
NAMES = sorted(picture.stem for picture in GALLERY.glob("*.svg"))


def make(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(GALLERY / "make_gallery.py"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True)


def sections(folder: Path) -> dict[str, str]:
    """The sections of the page by program."""
    return {found[1]: found[0] for found in SECTION.finditer((folder / "README.md").read_text())}


def planted(name: str) -> str:
    found = re.search(r'^FINDING = "([a-z-]+)"', (PROGRAMS / f"{name}.py").read_text(), re.MULTILINE)
    assert found is not None
    return found[1]


@pytest.mark.parametrize("name", NAMES)
def test_an_entry_is_recorded_and_drawn(name: str, tmp_path: Path) -> None:
    """The script ends with an error if the first finding is not the planted one."""
    result = make("--into", tmp_path, name)
    assert result.returncode == 0, result.stdout + result.stderr
    assert {file.name for file in tmp_path.iterdir()} == {"README.md", f"{name}.svg"}
    made, kept = sections(tmp_path), sections(GALLERY)
    assert list(made) == [name]
    assert made[name].split("```text")[0] == kept[name].split("```text")[0]  # program and commands
    assert ElementTree.parse(tmp_path / f"{name}.svg").getroot().tag.endswith("svg")
    if name == "item_in_metrics":
        assert "accuracy reads values of tensors (aten::item) 256 times per step" in made[name]
        assert "accuracy" in (tmp_path / f"{name}.svg").read_text()


@pytest.mark.parametrize("name", NAMES)
def test_a_section_has_the_planted_finding(name: str) -> None:
    text = sections(GALLERY)[name]
    first = next(line for line in text.splitlines() if line.startswith("1. "))
    assert f"[{planted(name)}" in first
    assert (GALLERY / f"{name}.svg").stat().st_size < 100_000
    assert str(processes.ROOT) not in text + (GALLERY / f"{name}.svg").read_text()


def test_every_picture_has_a_section() -> None:
    assert len(NAMES) >= 7
    assert sorted(sections(GALLERY)) == NAMES


def test_unknown_programs_are_rejected() -> None:
    result = make("nothing")
    assert result.returncode == 2
    assert "unknown programs: nothing" in result.stderr
