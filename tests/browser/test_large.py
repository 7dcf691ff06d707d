"""A hundred thousand paths of calls."""

import random
from pathlib import Path

import pytest
from playwright.sync_api import Browser

import fastdispatch
from fastdispatch.page.html import PageOptions, page
from tests.browser.opened import PATIENCE, Dump, opened

PATHS, FUNCTIONS = 100_000, 5_000
MEGABYTE = 10**6


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory, template: Path) -> Path:
    """A tree as deep as those of real programs: each path is called from a recent one."""
    folder = tmp_path_factory.mktemp("large")
    chance = random.Random(1)
    dump = Dump(template)
    dump.call(-1, 7, "", "", "main", "")
    for number in range(1, PATHS):
        function = chance.randrange(FUNCTIONS)
        package = ("project", "torch", "numpy", "stdlib")[function % 4]
        parent = max(0, number - 1 - int(chance.expovariate(0.02)))
        file, name = f"{package}/part{function % 97}.py", f"function_{function}"
        more = {"own": int(chance.expovariate(1e-5)), "calls": chance.randrange(1, 1000), "line": 1 + function}
        dump.call(parent, 1, file, f"Class{function % 300}", name, package, **more)
    trace = fastdispatch.load(dump.save(folder / "large.json"))
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
