"""Graph, modules, source of the example GPT; a rank of a merge."""

import json
import re
from copy import deepcopy
from pathlib import Path
from typing import Any

import pretrain
import pytest
import torch
from playwright.sync_api import Browser, Page, expect

import fastdispatch
from fastdispatch.page.html import PageOptions, page
from tests.browser.opened import Dump, address, look, opened
from tests.unit.report.timed import MS, timed

pytestmark = pytest.mark.torch

LAYERS = 2


def boxes(shown: Page) -> dict[str, str]:
    """Labels of the boxes, with their full texts."""
    labels = shown.locator("#view-graph .box .label").all_text_contents()
    texts = shown.locator("#view-graph .box").evaluate_all("l => l.map(b => b.ariaLabel)")
    return dict(zip(labels, texts, strict=True))


def numbers(shown: Page) -> list[int]:
    return [int(word) for word in re.findall(r"\d+", shown.locator("#view-graph .note").inner_text())]


def box(shown: Page, label: str) -> object:
    return shown.locator("#view-graph .box").filter(has=shown.locator(f"text.label:text-is('{label}')"))


def test_the_graph_unfolds_from_packages_to_functions_and_back(gpt: Path, browser: Browser) -> None:
    with opened(browser, gpt / "page.html", "view=graph") as shown:
        packages = boxes(shown)
        assert {"project", "torch", "aten"} <= set(packages)
        assert all(text.startswith("package") for text in packages.values())
        assert numbers(shown)[0] == len(packages)
        for label, inside in (("project", "pretrain.py"), ("pretrain.py", "Block"), ("Block", "Block.forward")):
            box(shown, label).click()
            assert inside in boxes(shown)
            assert label not in boxes(shown)
        assert f"blocks.* \u00d7 {LAYERS}" in shown.locator("#view-graph").inner_text()
        box(shown, "Block.forward").click()
        assert shown.locator("#details .key").inner_text() == "pretrain.py:[Block]:forward"
        shown.locator("#view-graph .crumb", has_text="project").click()
        assert boxes(shown) == packages


def test_the_source_view_opens_at_the_function_of_the_project_with_the_most_time(gpt: Path, browser: Browser) -> None:
    run = fastdispatch.load(timed(gpt, lambda path: MS if path[-1] == "train_step" else 10))
    (gpt / "timed.html").write_bytes(page(run, str(gpt), PageOptions(source=True)))
    with opened(browser, gpt / "timed.html", "view=source") as shown:
        first = shown.locator("#view-source .list .entry").first
        assert "selected" in str(first.get_attribute("class"))
        assert first.locator("b").inner_text() == shown.locator("#view-source h2").inner_text() == "train_step"
        assert re.findall(r"\w+\.py", first.inner_text()) == ["pretrain.py"]
        assert shown.locator("#view-source pre").is_visible()


def test_calls_lead_down_and_fit_shows_all_boxes(gpt: Path, browser: Browser) -> None:
    """More of a long chain fits downwards; the package that the thread calls is on top: pytest."""
    with opened(browser, gpt / "page.html", "view=graph") as shown:
        top = {label: box(shown, label).bounding_box()["y"] for label in boxes(shown)}
        assert top["pytest"] == min(top.values())
        assert top["project"] < top["torch"] < top["aten"]
        shown.locator("#view-graph button", has_text="Fit").click()
        view = shown.locator("#view-graph .scroller").bounding_box()
        for label in boxes(shown):
            place = box(shown, label).bounding_box()
            assert view["y"] <= place["y"] and place["y"] + place["height"] <= view["y"] + view["height"], label
            assert view["x"] <= place["x"] and place["x"] + place["width"] <= view["x"] + view["width"], label


def test_focus_shows_callers_and_callees_to_a_depth(gpt: Path, browser: Browser) -> None:
    trace = fastdispatch.load(gpt)
    node = trace.nodes["key"].index("pretrain.py:[Block]:forward")
    with opened(browser, gpt / "page.html", f"view=graph&node={node}") as shown:
        shown.locator("#view-graph button", has_text="Focus").click()
        near = set(boxes(shown))
        assert "Block.forward" in near
        shown.fill("#view-graph input[name=depth]", "3")
        shown.keyboard.press("Enter")
        assert near < set(boxes(shown))
        place = address(shown)
    with opened(browser, gpt / "page.html", place.split("#")[1]) as shown:
        assert near < set(boxes(shown))
        shown.locator("#view-graph button", has_text="Fold all").click()
        assert "project" in boxes(shown)


def test_the_graph_unfolds_by_keyboard(gpt: Path, browser: Browser) -> None:
    with opened(browser, gpt / "page.html", "view=graph") as shown:
        box(shown, "project").focus()
        shown.keyboard.press("Enter")
        box(shown, "pretrain.py").focus()
        shown.keyboard.press("Backspace")
        assert "package project" in shown.evaluate("document.activeElement.ariaLabel")


def test_the_heaviest_path_and_hidden_functions(gpt: Path, browser: Browser) -> None:
    with opened(browser, gpt / "page.html", "view=graph&heaviest=1") as shown:
        assert shown.locator("#view-graph .box.heaviest").count() >= 2
        count = shown.locator("#view-graph .box.heaviest").count()
        assert shown.locator("#view-graph path.heaviest").count() == count - 1
        count = len(boxes(shown))
        hidden = sum(numbers(shown)[2:3])
        look(shown, view="graph", min=10)
        assert len(boxes(shown)) + numbers(shown)[2] == count + hidden
        look(shown, view="graph", query="aten")
        assert shown.locator("#view-graph .box:not(.unlit) .label").all_text_contents() == ["aten"]


def test_boxes_of_the_graph_do_not_overlap(gpt: Path, browser: Browser) -> None:
    with opened(browser, gpt / "page.html", "view=graph") as shown:
        places = shown.locator("#view-graph .box").evaluate_all("l => l.map(b => b.getBoundingClientRect().toJSON())")
        for i, one in enumerate(places):
            for other in places[:i]:
                assert (
                    one["left"] >= other["right"]
                    or other["left"] >= one["right"]
                    or one["top"] >= other["bottom"]
                    or other["top"] >= one["bottom"]
                )


def test_text_of_the_graph_is_never_shrunk(gpt: Path, browser: Browser) -> None:
    with opened(browser, gpt / "page.html", "view=graph") as shown:
        for label in ("project", "pretrain.py", "torch"):
            box(shown, label).click()
        sizes = shown.locator("#view-graph .box text.label, #view-graph .box text.small").evaluate_all(
            "list => list.map(t => parseFloat(getComputedStyle(t).fontSize) * t.getScreenCTM().a)"
        )
        assert min(sizes) > 14.9  # the picture is as wide as a whole number of pixels
        assert shown.locator("#view-graph .box.heaviest rect.package-1").count() >= 2  # code of the project


def laptop(shown: Page, **state: object) -> Any:
    """Draw the graph on a small screen; return the rectangles of the view and of the boxes."""
    shown.set_viewport_size({"width": 1366, "height": 768})
    look(shown, view="table")
    look(shown, view="graph", **state)
    return shown.evaluate(
        """() => { const place = (e) => e.getBoundingClientRect().toJSON();
        const view = document.querySelector('#view-graph .scroller');
        return { view: place(view), boxes: [...view.querySelectorAll('.box')].map(place),
                 path: [...view.querySelectorAll('.box.heaviest')].map(place) }; }"""
    )


@pytest.mark.parametrize("count", [5, 9])
def test_boxes_out_of_view_are_counted(browser: Browser, tmp_path: Path, count: int) -> None:
    dump = Dump()
    above = dump.root
    for number in range(count):
        above = dump.call(above, 1, f"p{number}.py", "", f"f{number}", f"p{number}", line=3)
    trace = fastdispatch.load(dump.write(tmp_path / "chain.json"))
    (tmp_path / "page.html").write_bytes(page(trace, "chain", PageOptions()))
    with opened(browser, tmp_path / "page.html", "view=graph") as shown:
        places = laptop(shown)
        outside = sum(each["bottom"] > places["view"]["bottom"] for each in places["boxes"])
        note = shown.locator("#view-graph .note")
        assert len(places["boxes"]) == len(places["path"]) == count
        if count == 5:  # all in view
            assert outside == 0
            assert "scroll" not in note.inner_text()
            return
        assert outside > 0
        assert note.inner_text().endswith(f"scroll to see {outside} below")
        shown.evaluate("document.querySelector('#view-graph .scroller').scrollTop = 1e6")
        expect(note).to_have_text(re.compile(r"scroll to see \d+ above$"))


def test_the_class_of_a_function_is_shortened_first(browser: Browser, tmp_path: Path) -> None:
    dump = Dump()
    root = dump.root
    dump.call(root, 1, "a.py", "VeryLongNameOfAnUnusualModule", "forward", "project", line=3)
    trace = fastdispatch.load(dump.write(tmp_path / "long.json"))
    (tmp_path / "page.html").write_bytes(page(trace, "long", PageOptions()))
    with opened(browser, tmp_path / "page.html", "view=graph") as shown:
        for _ in range(3):
            shown.locator("#view-graph .box").click()
        assert list(boxes(shown)) == ["VeryLongName\u2026.forward"]


def test_modules_are_the_tree_of_the_model(gpt: Path, browser: Browser) -> None:
    table = fastdispatch.load(gpt).table("module")
    with opened(browser, gpt / "page.html", "view=modules") as shown:
        rows = shown.locator("#view-modules tbody tr")
        assert rows.count() == len(table["where"])
        names = rows.locator("b").all_inner_texts()
        assert names[0] == "GPT"
        assert names[1:3] == ["blocks.*", "attn"]
        model = pretrain.GPT(pretrain.Config(layers=LAYERS))
        elements = sum(p.numel() for p in model.parameters())
        parameters = rows.first.locator("td").last.inner_text().replace("\u202f", "")
        assert parameters == f"{elements} ({4 * elements / 1e6:.3g} MB)"
        block = rows.nth(1)
        assert f"Block \u00d7 {LAYERS}" in re.sub(r"\s+", " ", block.inner_text())
        assert str(table["calls"][table["where"].index("blocks.*")]) in block.inner_text().split()
        block.locator("button.name").click()
        assert "Block" in shown.locator("#details h2").inner_text()
        block.locator("button.twist").click()
        assert "attn" not in rows.locator("b").all_inner_texts()
        block.locator("button.twist").click()
        assert rows.count() == len(table["where"])


def test_source_has_the_location_and_the_text(gpt: Path, browser: Browser) -> None:
    node = fastdispatch.load(gpt).nodes["key"].index("pretrain.py:[Block]:forward")
    with opened(browser, gpt / "page.html", f"view=source&node={node}") as shown:
        text = shown.locator("#view-source pre").inner_text()
        assert "x = x + self.attn(self.ln1(x))" in text
        assert "class GPT" not in text
        link = shown.locator("#view-source .place a").get_attribute("href")
        assert link.startswith(f"vscode://file{Path(pretrain.__file__).resolve()}:")


def test_no_text_without_source(gpt: Path, browser: Browser) -> None:
    made = page(fastdispatch.load(gpt), str(gpt), PageOptions())
    file = gpt / "no-source.html"
    file.write_bytes(made)
    node = fastdispatch.load(gpt).nodes["key"].index("pretrain.py:[Block]:forward")
    with opened(browser, file, f"view=source&node={node}") as shown:
        assert "made without --source" in shown.locator("#view-source").inner_text()
        assert shown.locator("#view-source .place code").inner_text().split("/")[-1].startswith("pretrain.py:")


def test_figures_of_the_selected_rank(browser: Browser, tmp_path: Path) -> None:
    dump = Dump()
    root = dump.root
    step = dump.call(root, 1, "train.py", "", "step", "project", line=3, own=1000)
    dump.call(step, 1, "train.py", "", "slow", "project", line=9, own=10_000)
    path = dump.write(tmp_path / "ranks.json")
    document = json.loads(path.read_text())
    for rank in (1, 2):
        more = deepcopy(document["ranks"][0]) | {"rank": rank, "id": f"{rank:032x}"}
        more["figures"]["self"][2] *= 1 + rank
        document["ranks"].append(more)
    path.write_text(json.dumps(document))
    file = tmp_path / "ranks.html"
    file.write_bytes(page(fastdispatch.load(path), "ranks.json", PageOptions()))
    with opened(browser, file, f"view=flame&node={fastdispatch.load(path).nodes['name'].index('slow')}") as shown:
        crumbs = shown.locator("#view-flame .crumbs").first
        assert "66 \u00b5s in all threads" in crumbs.inner_text()
        shown.select_option("#rank", "1")
        assert "22 \u00b5s in all threads" in crumbs.inner_text()
        shown.locator("#tab-table").click()
        cells = shown.locator("#view-table tbody tr").filter(has_text="slow").locator("td").all_inner_texts()
        assert cells[2].strip() == "90.9 %"
        assert cells[4:6] == ["20 \u00b5s", "20 \u00b5s"]
        place = address(shown).split("#")[1]
        assert "rank=1" in place
    with opened(browser, file, place) as shown:
        assert shown.locator("#rank").input_value() == "1"
        assert shown.locator("#view-table tbody tr").filter(has_text="slow").locator("td").all_inner_texts() == cells
        assert "itself 20 \u00b5s" in shown.locator("#details").inner_text()


def test_modules_of_the_selected_rank(gpt: Path, browser: Browser, tmp_path: Path) -> None:
    fastdispatch.load(gpt).dump(tmp_path / "ranks.json")
    document = json.loads((tmp_path / "ranks.json").read_text())
    more = deepcopy(document["ranks"][0]) | {"rank": 1, "id": f"{1:032x}"}
    more["figures"]["self"] = [2 * own for own in more["figures"]["self"]]
    document["ranks"].append(more)
    (tmp_path / "ranks.json").write_text(json.dumps(document))
    trace = fastdispatch.load(tmp_path / "ranks.json")
    (tmp_path / "page.html").write_bytes(page(trace, "ranks.json", PageOptions()))

    def forward(shown: Page) -> float:
        number, unit = shown.locator("#view-modules tbody tr").first.locator("td").first.inner_text().split()
        return float(number) * {"s": 1e9, "ms": 1e6, "\u00b5s": 1e3}[unit]

    with opened(browser, tmp_path / "page.html", "view=modules") as shown:
        for rank, label in ((None, "all ranks"), (0, "rank 0"), (1, "rank 1")):
            shown.select_option("#rank", label=label)
            assert f", of {label};" in shown.locator("#view-modules .viewbar").inner_text()
            table = trace.table("module", rank)
            assert forward(shown) == pytest.approx(table["total"][table["where"].index("GPT")], rel=0.01)


# -- the page of a model of transformers -------------------------------------------------------------------------------


VIEWS = ("overview", "flame", "graph", "table", "modules", "source")


@pytest.fixture(scope="module")
def gpt2(tmp_path_factory: pytest.TempPathFactory) -> Path:
    transformers = pytest.importorskip("transformers")
    folder = tmp_path_factory.mktemp("huggingface")
    torch.manual_seed(0)
    config = transformers.GPT2Config(vocab_size=64, n_positions=16, n_embd=16, n_layer=LAYERS, n_head=2)
    model = transformers.GPT2LMHeadModel(config)
    optimizer = torch.optim.AdamW(model.parameters())
    tokens = torch.randint(0, 64, (2, 16))
    with fastdispatch.CallGraph(folder):
        for _ in range(2):
            model(input_ids=tokens, labels=tokens).loss.backward()
            optimizer.step()
            optimizer.zero_grad()
    (folder / "page.html").write_bytes(page(fastdispatch.load(folder), "GPT-2", PageOptions(source=True)))
    return folder


def test_every_view_shows_it(gpt2: Path, browser: Browser) -> None:
    key = "transformers/models/gpt2/modeling_gpt2.py:[GPT2Block]:forward"
    node = fastdispatch.load(gpt2).nodes["key"].index(key)
    with opened(browser, gpt2 / "page.html", f"query=GPT2Block&node={node}") as shown:
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
