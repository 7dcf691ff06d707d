"""Pictures of recorded trainings are legible at the width of a laptop's screen."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

import fastdispatch
from fastdispatch.page.graphviz import layout
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


def drawn(folder: Path) -> str:
    return layout(fastdispatch.load(folder, steps=(4, 12)).export("dot")).decode()


BERT = """
import torch, transformers
config = transformers.BertConfig(
    vocab_size=64, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32
)
model = transformers.BertForMaskedLM(config)
optimizer = torch.optim.AdamW(model.parameters())
tokens = torch.randint(0, 64, (2, 16))
for _ in range(12):
    model(input_ids=tokens, labels=tokens).loss.backward()
    optimizer.step()
    optimizer.zero_grad()
"""


def recorded(folder: Path, *program: object) -> Path:
    """Record counts, which are the same in each run, and select the same functions for the picture."""
    done = processes.fastdispatch("run", "--no-timing", "--out", folder / "run", *program)
    assert done.returncode == 0, done.stderr
    return folder / "run"


@pytest.fixture(scope="module")
def gpt(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = processes.ROOT / "docs" / "examples" / "gpt" / "pretrain.py"
    return recorded(tmp_path_factory.mktemp("gpt"), program, "--steps", 12)


@pytest.fixture(scope="module")
def huggingface(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("transformers")
    folder = tmp_path_factory.mktemp("huggingface")
    (folder / "bert.py").write_text(BERT)
    return recorded(folder, folder / "bert.py")


@pytest.mark.parametrize("training", ["gpt", "huggingface"])
def test_text_is_legible_on_a_laptop(training: str, request: pytest.FixtureRequest) -> None:
    picture = drawn(request.getfixturevalue(training))
    assert picture.count('class="node"') >= 8
    assert smallest_text(picture) >= LEGIBLE
