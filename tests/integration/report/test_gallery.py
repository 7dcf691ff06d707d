"""The gallery: all entries are built, and every committed page has the finding that its program plants."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests import processes

pytest.importorskip("torch")

pytestmark = pytest.mark.torch

GALLERY = processes.ROOT / "docs" / "gallery"
PROGRAMS = processes.ROOT / "tests" / "programs"
PAGES = sorted(GALLERY.glob("[a-z]*.md"))


def make(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(GALLERY / "make_gallery.py"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True)


def planted(name: str) -> str:
    found = re.search(r'^FINDING = "([a-z-]+)"', (PROGRAMS / f"{name}.py").read_text(), re.MULTILINE)
    assert found is not None
    return found[1]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_an_entry_is_recorded_and_drawn(page: Path, tmp_path: Path) -> None:
    """The script ends with an error if the first finding is not the planted one."""
    result = make("--into", tmp_path, page.stem)
    assert result.returncode == 0, result.stdout + result.stderr
    assert {file.name for file in tmp_path.iterdir()} == {"README.md", page.name, f"{page.stem}.svg"}
    assert (tmp_path / "README.md").read_text() == (GALLERY / "README.md").read_text()
    made, kept = ((folder / page.name).read_text().split("```text")[0] for folder in (tmp_path, GALLERY))
    assert made == kept  # program and commands
    assert ElementTree.parse(tmp_path / f"{page.stem}.svg").getroot().tag.endswith("svg")
    if page.stem == "item_in_metrics":
        assert "accuracy reads values of tensors (aten::item) 256 times per step" in (tmp_path / page.name).read_text()
        assert "accuracy" in (tmp_path / f"{page.stem}.svg").read_text()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_has_the_planted_finding(page: Path) -> None:
    text = page.read_text()
    first = next(line for line in text.splitlines() if line.startswith("1. "))
    assert f"[{planted(page.stem)}" in first
    assert (GALLERY / f"{page.stem}.svg").stat().st_size < 100_000
    assert str(processes.ROOT) not in text + (GALLERY / f"{page.stem}.svg").read_text()


def test_every_page_is_in_the_index() -> None:
    index = (GALLERY / "README.md").read_text()
    assert len(PAGES) >= 7
    assert {page.name for page in PAGES} == {*re.findall(r"\]\(([a-z_]+\.md)\)", index)}


def test_unknown_programs_are_rejected() -> None:
    result = make("nothing")
    assert result.returncode == 2
    assert "unknown programs: nothing" in result.stderr
