"""The page of a recording with 100 000 contexts: its size, and the time from opening to the result of a search."""

import shutil
import tempfile
from pathlib import Path
from time import process_time

import fastdispatch
from benchmarks.figures import Result
from benchmarks.measure import Effort, quiet
from benchmarks.reading import record
from fastdispatch.page.html import PageOptions, page

_MEGABYTES, _SEARCH_MS = 8, 2000
_PATIENCE = 120_000
_MARKS = "performance.getEntriesByType('mark').map(mark => mark.startTime)"


def measure(effort: Effort) -> Result:
    result = Result()
    with tempfile.TemporaryDirectory(prefix="fastdispatch-bench-") as name, quiet():
        trace = fastdispatch.load(record(Path(name), effort, "one"))
        file = Path(name) / "page.html"
        begin = process_time()
        file.write_bytes(page(trace, "recording", PageOptions()))
        result.add("making of the page", [(process_time() - begin) * 1e3], "ms")
        note = f"{len(trace.contexts['node'])} contexts"
        result.add("page", [file.stat().st_size / 1e6], "MB", _MEGABYTES, note)
        _opened(result, effort, file)
    return result


def _opened(result: Result, effort: Effort, file: Path) -> None:
    """Time in a headless Chromium, from a disk, until the result of a search is visible and until all is drawn."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        chromium = None
    if chromium is None:
        result.skip("opening", "needs playwright and Chromium")
        return
    searched, drawn = [], []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for _ in range(effort.rounds):
            context = browser.new_context(viewport={"width": 1400, "height": 860}, offline=True)
            shown = context.new_page()
            shown.goto(f"{file.as_uri()}#query=f7")
            shown.wait_for_selector("body[data-ready=yes]", timeout=_PATIENCE)
            first, second = shown.evaluate(_MARKS)
            searched.append(first)
            drawn.append(second)
            context.close()
        browser.close()
    result.add("first result of a search after opening", searched, "ms", _SEARCH_MS)
    result.add("first view drawn", drawn, "ms")
