"""The page of a model of transformers, built from a configuration without downloads."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser

import fastdispatch
from fastdispatch.page.html import PageOptions, page
from tests.browser.opened import look, opened

pytestmark = pytest.mark.torch

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

LAYERS, STEPS = 2, 2
VIEWS = ("overview", "flame", "graph", "table", "modules", "source")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("huggingface")
    torch.manual_seed(0)
    config = transformers.GPT2Config(vocab_size=64, n_positions=16, n_embd=16, n_layer=LAYERS, n_head=2)
    model = transformers.GPT2LMHeadModel(config)
    optimizer = torch.optim.AdamW(model.parameters())
    tokens = torch.randint(0, 64, (2, 16))
    with fastdispatch.CallGraph(folder):
        for _ in range(STEPS):
            model(input_ids=tokens, labels=tokens).loss.backward()
            optimizer.step()
            optimizer.zero_grad()
    (folder / "page.html").write_bytes(page(fastdispatch.load(folder), "GPT-2", PageOptions(source=True)))
    return folder


def test_every_view_shows_it(run: Path, browser: Browser) -> None:
    key = "transformers/models/gpt2/modeling_gpt2.py:[GPT2Block]:forward"
    node = fastdispatch.load(run).nodes["key"].index(key)
    with opened(browser, run / "page.html", f"query=GPT2Block&node={node}") as shown:
        assert shown.locator("#found").inner_text().split(" ")[0] != "0"
        for view in VIEWS:
            look(shown, view=view, node=node)
            assert shown.locator(f"#view-{view}").is_visible()
        assert f"transformer.h.* \u00d7 {LAYERS}" in shown.locator("#details").inner_text()
        look(shown, view="modules")
        names = shown.locator("#view-modules tbody tr b").all_inner_texts()
        assert names[0] == "GPT2LMHeadModel"
        assert {"transformer", "h.*", "attn", "mlp", "lm_head"} <= set(names)
        look(shown, view="source", node=node)
        assert "def forward(" in shown.locator("#view-source pre").inner_text()
