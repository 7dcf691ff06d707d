"""The picture of a recorded training is legible at the width of a laptop's screen."""

import re
import shutil
from pathlib import Path

import pytest

import fastdispatch
from tests import processes

pytest.importorskip("torch")

pytestmark = [
    pytest.mark.torch,
    pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed"),
]

SCREEN, LEGIBLE = 1366, 11  # pixels


def width(picture: str) -> float:
    found = re.search(r'<svg width="(\d+)pt"', picture)
    assert found is not None
    return float(found[1])


def smallest_text(picture: str) -> float:
    """Return the size of the smallest text in pixels, of a picture as wide as the screen or less."""
    sizes = [float(size) for size in re.findall(r'font-size="([\d.]+)"', picture)]
    return min(sizes) * min(SCREEN / width(picture), 96 / 72)


def test_text_is_legible_on_a_laptop(tmp_path: Path) -> None:
    """Counts, which are the same in each run, select the same functions for the picture."""
    program = processes.ROOT / "docs" / "examples" / "gpt" / "pretrain.py"
    processes.run_in(tmp_path, "fastdispatch", "run", "--options=timing=0", "--out", "run", program, "--steps", 12)
    picture = fastdispatch.load(tmp_path / "run", steps=(4, 12)).svg()
    assert picture.count('class="node"') >= 8
    assert smallest_text(picture) >= LEGIBLE
