"""The page of a comparison: every view shows changes by signs, not by colour alone."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

import fastdispatch
from fastdispatch.compare.diff import Diff
from fastdispatch.page.html import PageOptions
from fastdispatch.page.html_diff import page
from tests.browser.opened import Dump, address, look, opened, painted

MS = 10**6


def recorded(path: Path, slow: int, extra: str, line: int, rank: int = 0) -> Path:
    """``slow`` ms in one function, and a function that only this run has; ``line`` moves all of them in their file."""
    dump = Dump(rank=rank, world=2, meta={"folder": str(path.parent), "command": ["train.py"]})
    root = dump.root
    step = dump.call(root, 1, "train.py", "", "step", "project", line=line, own=2 * MS)
    dump.call(step, 1, "train.py", "Model", "slow", "project", line=line + 5, own=slow * MS, calls=4)
    dump.call(step, 1, "train.py", "Model", "same", "project", line=line + 9, own=60 * MS, calls=4)
    dump.call(step, 1, "train.py", "", extra, "project", line=line + 20, own=9 * MS, calls=2)
    return dump.write(path)


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Diff]:
    folder = tmp_path_factory.mktemp("diff")
    paths = [
        recorded(folder / "monday.json", 20, "gone_since", 3),
        recorded(folder / "tuesday.json", 26, "new_now", 8),
    ]
    diff = Diff(*(fastdispatch.load(path) for path in paths), names=("monday.json", "tuesday.json"))
    (folder / "page.html").write_bytes(page(diff, PageOptions()))
    return folder, diff


@pytest.fixture
def shown(compared: tuple[Path, Diff], browser: Browser) -> Iterator[Page]:
    with opened(browser, compared[0] / "page.html") as opened_page:
        yield opened_page


def rows(shown: Page) -> dict[str, list[str]]:
    """Cells of the table by name of function."""
    found = shown.locator("#view-table tbody tr")
    names = found.locator("th b").all_inner_texts()
    return {name: found.nth(at).locator("td").all_inner_texts() for at, name in enumerate(names)}


def test_the_page_opens_with_the_verdict(shown: Page, compared: tuple[Path, Diff]) -> None:
    assert shown.locator("#lead").is_visible()
    assert shown.locator("#lead").inner_text() == compared[1].verdict.text


def test_the_table_is_first_with_the_largest_changes(shown: Page) -> None:
    assert shown.locator("h1").inner_text().endswith("monday.json \u2192 tuesday.json")
    cells = rows(shown)
    assert set(list(cells)[:2]) == {"new_now", "gone_since"}
    assert list(cells)[2] == "Model.slow"
    assert cells["Model.slow"][0] == "slower"
    assert cells["Model.slow"][2:5] == ["+6 ms \u25b2 +30 %", "20 ms", "26 ms"]
    assert (cells["new_now"][0], cells["gone_since"][0]) == ("new", "gone")
    assert "\u25b2 new" in cells["new_now"][2]
    assert "\u25bc gone" in cells["gone_since"][2]
    assert cells["Model.same"][0] == cells["Model.same"][2] == ""


def test_filter_by_change(shown: Page) -> None:
    shown.select_option("#changes", "changed")
    assert set(rows(shown)) == {"new_now", "gone_since", "Model.slow"}
    shown.select_option("#changes", "slower")
    assert set(rows(shown)) == {"Model.slow", "new_now"}
    assert "changes=slower" in address(shown)
    shown.select_option("#weight", "calls")
    assert rows(shown)["new_now"][2] == "+2 \u25b2 new"


def test_a_flame_shows_both_and_the_direction(shown: Page, compared: tuple[Path, Diff]) -> None:
    """By the colours of the frames."""
    look(shown, view="flame", theme="light")
    colours = painted(shown, "#view-flame .scroller canvas")
    for name in ("same", "more-1", "more-3", "less-3"):
        assert colours[f"tone-{name}"] > 300, name
    keys = [row.key for row in compared[1].rows]
    assert {"train.py:[]:new_now", "train.py:[]:gone_since"} <= set(keys)
    shown.locator("#view-flame .scroller canvas").hover(position={"x": 10, "y": 10})
    assert "91 ms \u2192 97 ms in total \u25b2 +7 %" in shown.locator(".tip").inner_text()


def test_boxes_and_details_have_both_figures(shown: Page) -> None:
    look(shown, view="graph")
    shown.locator("#view-graph .box").first.click()
    shown.locator("#view-graph .box").first.click()
    boxes = shown.locator("#view-graph .box").evaluate_all("l => l.map(b => b.ariaLabel)")
    assert any("function new_now" in text and "\u25b2 new" in text for text in boxes)
    assert any("function gone_since" in text and "\u25bc gone" in text for text in boxes)
    assert shown.locator("#view-graph path.edge[stroke-dasharray='9 4']").count() == 1
    assert shown.locator("#view-graph path.edge[stroke-dasharray='2 4']").count() == 1
    look(shown, view="table", query="slow")
    shown.locator("#view-table tbody button.name").first.click()
    details = shown.locator("#details").inner_text()
    assert "20 ms \u2192 26 ms" in details
    assert "slower" in details


def test_the_overview_has_the_lines_of_the_comparison(shown: Page) -> None:
    look(shown, view="overview")
    text = shown.locator("#view-overview").inner_text()
    assert "+ 30% self" in text
    assert "before: 0 of" in text and "after: 0 of" in text
    assert shown.locator("#tab-timeline").count() == 0
    assert shown.locator("#rank").is_hidden()


def test_changed_edges_have_a_sign(shown: Page) -> None:
    look(shown, view="graph")
    for label in ("project", "train.py", "Model"):
        shown.locator("#view-graph .box").filter(has=shown.locator(f"text.label:text-is('{label}')")).click()
    signs = shown.locator("#view-graph text.sign").all_text_contents()
    assert signs == ["\u25b2"]  # to Model.slow: new_now and gone_since have dashes, Model.same is the same


def test_ranks_that_both_have_can_be_chosen(tmp_path: Path, browser: Browser) -> None:
    sides = [
        [recorded(tmp_path / f"{name}{rank}", slow, "extra", 3, rank) for rank, slow in enumerate(slows)]
        for name, slows in (("before", (20, 20)), ("after", (20, 50)))
    ]
    file = tmp_path / "page.html"
    file.write_bytes(page(Diff(*(fastdispatch.load(side) for side in sides)), PageOptions()))
    with opened(browser, file) as shown:
        assert rows(shown)["Model.slow"][2:5] == ["+30 ms \u25b2 +75 %", "40 ms", "70 ms"]
        assert shown.locator("#rank option").all_inner_texts() == ["all ranks", "rank 0", "rank 1"]
        shown.select_option("#rank", label="rank 0")
        assert rows(shown)["Model.slow"][2:5] == ["", "20 ms", "20 ms"]
        shown.select_option("#rank", label="rank 1")
        assert rows(shown)["Model.slow"][2:5] == ["+30 ms \u25b2 +150 %", "20 ms", "50 ms"]
        look(shown, view="flame", rank=1)
        shown.locator("#view-flame .scroller canvas").hover(position={"x": 10, "y": 10})
        assert "91 ms \u2192 121 ms" in shown.locator(".tip").inner_text()


def test_source_of_present_files(tmp_path: Path, browser: Browser) -> None:
    """Removed functions have no source, and do not hide the source of others."""
    sides = [
        recorded(tmp_path / "before.json", 20, "gone_since", 3),
        recorded(tmp_path / "after.json", 26, "new_now", 8),
    ]
    functions = {8: "def step(): pass", 13: "def slow(): pass", 17: "def same(): pass", 28: "def new_now(): 7"}
    (tmp_path / "train.py").write_text("\n".join(functions.get(line, "") for line in range(1, 31)))
    file = tmp_path / "page.html"
    file.write_bytes(page(Diff(*map(fastdispatch.load, sides)), PageOptions(source=True)))
    with opened(browser, file, "view=source&query=new_now") as shown:
        shown.locator("#view-source button.entry").first.click()
        assert "def new_now(): 7" in shown.locator("#view-source pre").inner_text()
        look(shown, view="source", query="gone_since")
        shown.locator("#view-source button.entry").first.click()
        assert "No source text" in shown.locator("#view-source").inner_text()


def test_equal_comparisons_give_equal_bytes(compared: tuple[Path, Diff]) -> None:
    folder, diff = compared
    assert page(diff, PageOptions()) == (folder / "page.html").read_bytes()
