"""The page of the example GPT: all views and controls."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

import fastdispatch
from tests.browser.opened import address, drawn, look, opened

pytestmark = pytest.mark.torch

LAYERS = 2


def node_of(folder: Path, key: str) -> int:
    return fastdispatch.load(folder).nodes["key"].index(key)


def matches(shown: Page) -> str:
    return shown.locator("#found").inner_text()


def test_the_page_is_small(gpt: Path) -> None:
    assert (gpt / "page.html").stat().st_size < 10**6


def test_search_shows_count_and_share(gpt: Path, browser: Browser) -> None:
    trace = fastdispatch.load(gpt)
    nodes = [node for node, key in enumerate(trace.nodes["key"]) if "aten::linear" in key]
    with opened(browser, gpt / "page.html") as shown:
        shown.keyboard.press("/")
        shown.keyboard.type("aten::linear")
        assert matches(shown).startswith(f"{len(nodes)} function")
        assert float(matches(shown).split("·")[2].split()[0]) > 0
        assert "query=aten%3A%3Alinear" in address(shown)
        shown.keyboard.press("Escape")
        shown.locator("#reset").click()
        assert matches(shown) == ""


def test_zoom_by_keyboard_and_back(gpt: Path, browser: Browser) -> None:
    with opened(browser, gpt / "page.html", "view=flame") as shown:
        shown.locator("#view-flame .scroller canvas").focus()
        for name in ("ArrowDown", "ArrowDown", "ArrowDown", "Enter"):
            shown.keyboard.press(name)
        assert "zoom=" in address(shown)
        zoomed = shown.locator("#view-flame .crumb").count()
        assert zoomed > 1
        shown.keyboard.press("Backspace")
        assert shown.locator("#view-flame .crumb").count() == zoomed - 1
        shown.locator("#view-flame .crumb").first.click()
        assert "zoom=" not in address(shown)
        assert shown.locator("#details h2").count() == 1


def test_callers_are_the_same_time_turned_around(gpt: Path, browser: Browser) -> None:
    with opened(browser, gpt / "page.html", "view=flame") as shown:
        forwards = shown.locator("#view-flame .crumbs").first.inner_text()
        look(shown, view="flame", reverse=1)
        assert shown.locator("#view-flame .crumbs").first.inner_text() == forwards
        assert shown.locator("#view-flame input[name=reverse]").is_checked()


@pytest.mark.parametrize("weight", ["backward", "calls", "ops"])
def test_other_weights(gpt: Path, browser: Browser, weight: str) -> None:
    with opened(browser, gpt / "page.html", f"view=flame&weight={weight}&phase=forward") as shown:
        assert shown.locator("#weight").input_value() == weight
        assert shown.locator("#phase").input_value() == "forward"
        assert "everything" in shown.locator("#view-flame .crumbs").first.inner_text()


def test_the_table_has_the_figures_of_the_report(gpt: Path, browser: Browser) -> None:
    trace = fastdispatch.load(gpt)
    node = node_of(gpt, "pretrain.py:[Block]:forward")
    table = trace.table("node")
    calls = table["calls"][table["node"].index(node)]
    with opened(browser, gpt / "page.html", "view=table&query=pretrain.py%20block%20forward") as shown:
        row = shown.locator("#view-table tbody tr").first
        assert "Block.forward" in row.inner_text()
        assert f"\t{calls}\t" in row.inner_text().replace("\n", "\t")
        row.locator("button.name").click()
        assert f"node={node}" in address(shown)
        assert "pretrain.py:[Block]:forward" in shown.locator("#details").inner_text()
        assert f"blocks.* \u00d7 {LAYERS}" in shown.locator("#details").inner_text()
        shown.locator("#view-table th button", has_text="Calls").click()
        assert "sort=calls" in address(shown)
        assert shown.locator("#view-table th[aria-sort=descending]").inner_text().startswith("Calls")


def test_the_table_is_filtered_and_copied(gpt: Path, browser: Browser) -> None:
    with opened(browser, gpt / "page.html", "view=table&kind=op&package=aten&query=_back") as shown:
        rows = shown.locator("#view-table tbody tr")
        assert 2 < rows.count() < 60
        assert all(text == "op" for text in shown.locator("#view-table tbody td:nth-child(3)").all_inner_texts())
        shown.evaluate("navigator.clipboard.writeText = text => { window.copied = text; return Promise.resolve(); }")
        shown.locator("button", has_text="Copy as CSV").click()
        lines = shown.evaluate("window.copied").strip().split("\n")
        assert len(lines) == rows.count() + 1
        assert lines[0].startswith("function,package,kind,")
        widths = shown.locator("#view-table td.bar meter-bar").evaluate_all(
            "list => list.map(b => parseFloat(b.style.width))"
        )
        kept = sum(width >= 45 * 0.1 for width in widths)  # a share of 100 % is 45 % of the cell wide
        shown.select_option("#min", "10")
        assert rows.count() == kept
        assert f"; {len(widths) - kept} below 10 % not shown" in shown.locator("#view-table").inner_text()


def test_the_address_restores_the_view(gpt: Path, browser: Browser) -> None:
    node = node_of(gpt, "pretrain.py:[Attention]:forward")
    state = f"view=table&weight=backward&query=forward&package=project&node={node}&sort=calls&theme=dark"
    with opened(browser, gpt / "page.html", state) as shown:
        assert shown.locator("#query").input_value() == "forward"
        assert shown.locator("#package").input_value() == "project"
        assert shown.locator("tr.selected").count() == 1
        assert shown.locator("#tab-table").get_attribute("aria-selected") == "true"
        dark = shown.evaluate("getComputedStyle(document.body).backgroundColor")
        shown.locator("#theme").click()
        assert shown.evaluate("getComputedStyle(document.body).backgroundColor") != dark
        place = address(shown)
        shown.keyboard.press("2")
        assert shown.locator("#view-flame").is_visible()
        shown.go_back()
        drawn(shown)
        assert address(shown) == place
        assert shown.locator("#view-table").is_visible()


def test_everything_can_be_reached_by_keyboard_and_the_focus_is_seen(gpt: Path, browser: Browser) -> None:
    with opened(browser, gpt / "page.html", "view=flame") as shown:
        reached = set()
        for _ in range(40):
            shown.keyboard.press("Tab")
            reached.add(shown.evaluate("document.activeElement.id || document.activeElement.tagName"))
            if shown.evaluate("document.activeElement !== document.body"):
                assert shown.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
        assert (
            set(["tab-flame", "theme", "query", "weight", "package", "kind", "phase", "min", "reset", "CANVAS"])
            <= reached
        )
        shown.locator("#tab-flame").focus()
        shown.keyboard.press("ArrowRight")
        assert "view=" in address(shown)


def test_paper_is_light_and_has_the_view_alone(gpt: Path, browser: Browser) -> None:
    """Each view, of a page in the dark theme."""
    node = node_of(gpt, "pretrain.py:[Block]:forward")
    with opened(browser, gpt / "page.html", f"view=flame&theme=dark&node={node}") as shown:
        for view in ("overview", "flame", "graph", "table", "modules", "timeline", "source"):
            look(shown, view=view, theme="dark", node=node)
            dark = shown.evaluate("getComputedStyle(document.body).backgroundColor")
            shown.emulate_media(media="print")
            shown.evaluate("window.dispatchEvent(new Event('beforeprint'))")
            assert dark != shown.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
            assert shown.locator(f"#view-{view}").is_visible()
            for hidden in ("#tabs", "#query", "#theme", "#view-source .list"):
                assert not shown.locator(hidden).first.is_visible()
            wide = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
            assert view == "table" or shown.evaluate(wide), view
            shown.emulate_media(media="screen")
            shown.evaluate("window.dispatchEvent(new Event('afterprint'))")
            assert shown.evaluate("getComputedStyle(document.body).backgroundColor") == dark
        assert shown.pdf(format="A4", landscape=True).startswith(b"%PDF")


def test_the_table_has_room_for_all_times(gpt: Path, browser: Browser) -> None:
    """At a width of 1400 pixels, as far as the total of backward times."""
    with opened(browser, gpt / "page.html", "view=table") as shown:
        assert "Backward time, total" in shown.locator("#view-table thead").inner_text().replace("\n", " ")
        assert shown.evaluate(
            "(view => view.scrollWidth <= view.clientWidth)(document.querySelector('#view-table .scroller'))"
        )


def test_the_overview_ends_with_facts_of_the_recording(gpt: Path, browser: Browser) -> None:
    with opened(browser, gpt / "page.html") as shown:
        text = shown.locator("#view-overview").inner_text()
        for word in ("Nothing was dropped", "torch", "2.13", "Command", "100 %"):
            assert word in text


def test_scripts_are_modules_of_the_page() -> None:
    folder = Path(__file__).parents[2] / "python/fastdispatch/page/assets"
    for file in folder.glob("*.js"):
        text = file.read_text()
        assert not any(
            word in text for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(")
        )
        assert "http://" not in text.replace("http://www.w3.org/", "") and "https://" not in text, file
        assert len(text.splitlines()) <= 400, file
