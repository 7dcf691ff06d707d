"""Names with markup, ends of data blocks or bidirectional controls are shown as text."""

import random
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

import fastdispatch
from fastdispatch.compare.diff import Diff
from fastdispatch.page import html_diff
from fastdispatch.page.html import PageOptions, page
from tests.browser.opened import PATIENCE, Dump, look, opened

BREAKOUT = "</script><script>window.broken=1</script><img src=x onerror='window.broken=1'>"
NAMES = (
    BREAKOUT,
    "\"quotes\" 'both' `back` \\ & &amp; {{ 7 * 7 }} ${window.broken=1} %s",
    "\U0001f600 \u4f60\u597d e\u0301",
    "\u202eright to left\u202c \u05e9\u05dc\u05d5\u05dd",
    "x" * 10_000,
    "__proto__",
    "=cmd|' /C calc'!A0",
    "\x01\x7f\u2028line\u2029paragraph",
)
VIEWS = ("overview", "flame", "graph", "table", "modules", "source")


def recorded(path: Path, names: tuple[str, ...]) -> Path:
    dump = Dump(notes=list(names), meta={"command": list(names), "host": names[0]})
    at = dump.root
    for name in names:
        at = dump.call(at, 1, f"{name}.py", name, name, name, line=7)
        dump.call(at, 2, "", "", name, "")
    return dump.write(path)


@pytest.fixture(scope="module")
def strange(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    path = recorded(folder / "strange.json", NAMES)
    file = folder / "strange.html"
    file.write_bytes(page(fastdispatch.load(path), f"{BREAKOUT}/{BREAKOUT}", PageOptions()))
    return file


def assert_nothing_ran(shown: Page) -> None:
    assert shown.evaluate("window.broken") is None
    assert shown.locator("img").count() == 0
    assert shown.locator("script:not([type])").count() == 1


@pytest.mark.parametrize("view", VIEWS)
def test_names_are_text_and_nothing_runs(browser: Browser, strange: Path, view: str) -> None:
    with opened(browser, strange, f"view={view}") as shown:
        for node in (1, 2, 7):
            look(shown, view=view, node=node)
        assert_nothing_ran(shown)


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Some are new, some removed, some in both."""
    folder = tmp_path_factory.mktemp("hostile_diff")
    sides = [recorded(folder / f"{i}.json", names) for i, names in enumerate((NAMES[:-2], NAMES[1:]))]
    diff = Diff(*map(fastdispatch.load, sides), names=(f"{BREAKOUT}/{BREAKOUT}", NAMES[3]))
    file = folder / "compared.html"
    file.write_bytes(html_diff.page(diff, PageOptions()))
    return file


@pytest.mark.parametrize("view", ("overview", "flame", "graph", "table", "source"))
def test_names_of_a_comparison_are_text(browser: Browser, compared: Path, view: str) -> None:
    with opened(browser, compared, f"view={view}") as shown:
        for node in (1, 2, 7):
            look(shown, view=view, node=node)
        assert_nothing_ran(shown)
        if view == "overview":
            assert BREAKOUT in shown.locator("#view-overview").inner_text()
        if view == "table":
            assert any(
                BREAKOUT[:20] in text for text in shown.locator("#view-table tbody button.name").all_inner_texts()
            )


def test_names_are_there_in_full(browser: Browser, strange: Path) -> None:
    with opened(browser, strange, "view=table&sort=name") as shown:
        names = shown.locator("#view-table tbody button.name").all_inner_texts()
        for name in NAMES:
            start = name[:20].strip()
            assert any(start in text for text in names) or "\x01" in name, name
        turned = shown.locator("#view-table tbody tr").filter(has_text="right to left").filter(has_text=".py:7").first
        name, file = (turned.locator(each).bounding_box() for each in ("th b", "th .quiet"))
        assert name and file and name["x"] + name["width"] <= file["x"]  # a name does not reverse its neighbours
        assert shown.locator("h1").get_attribute("title") == f"{BREAKOUT}/{BREAKOUT}"
        shown.fill("#query", "</script>")
        assert shown.locator("#found").inner_text().startswith("2 functions")
        look(shown, view="overview")
        assert BREAKOUT in shown.locator("#view-overview").inner_text()


def test_the_file_has_no_name_outside_its_data(strange: Path) -> None:
    text = strange.read_text()
    assert "window.broken=1</script>" not in text
    assert text.count("<script>") == 1
    assert "x" * 1000 not in text


# -- a hundred thousand paths of calls ---------------------------------------------------------------------------------


PATHS, FUNCTIONS = 100_000, 5_000
MEGABYTE = 10**6


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tree as deep as those of real programs: each path is called from a recent one."""
    folder = tmp_path_factory.mktemp("large")
    chance = random.Random(1)
    dump = Dump()
    for number in range(1, PATHS):
        function = chance.randrange(FUNCTIONS)
        package = ("project", "torch", "numpy", "stdlib")[function % 4]
        parent = max(0, number - 1 - int(chance.expovariate(0.02)))
        file, name = f"{package}/part{function % 97}.py", f"function_{function}"
        more = {"own": int(chance.expovariate(1e-5)), "calls": chance.randrange(1, 1000), "line": 1 + function}
        dump.call(parent, 1, file, f"Class{function % 300}", name, package, **more)
    trace = fastdispatch.load(dump.write(folder / "large.json"))
    file = folder / "large.html"
    file.write_bytes(page(trace, "large.json", PageOptions()))
    return file


def test_the_file_is_small(large: Path) -> None:
    assert large.stat().st_size < 8 * MEGABYTE


def test_a_search_ends_before_anything_is_drawn(browser: Browser, large: Path) -> None:
    """The goal of two seconds is measured by ``python -m benchmarks --only pages``; here the machine may be busy."""
    with opened(browser, large, "query=function_42%20torch") as shown:
        assert shown.locator("#found").inner_text().split(" ")[0].isdigit()
        marks = shown.evaluate("performance.getEntriesByType('mark').map(mark => [mark.name, mark.startTime])")
        print(marks)
        assert [name for name, _ in marks] == ["searched", "drawn"]
        assert marks[0][1] < PATIENCE
        shown.locator("#tabs button", has_text="Table").click()
        shown.fill("#query", "")
        assert shown.locator("#view-table tbody tr").count() == 300


def test_equal_input_gives_equal_bytes(large: Path) -> None:
    path = large.with_suffix(".json")
    assert page(fastdispatch.load(path), "large.json", PageOptions()) == large.read_bytes()


def test_a_page_above_the_limit_is_rejected(large: Path) -> None:
    with pytest.raises(fastdispatch.Error, match=r"large\.json: the page would be .* MB: raise max_mb"):
        page(fastdispatch.load(large.with_suffix(".json")), "large.json", PageOptions(most=10**5))
