"""Open files in the Perfetto UI and in the engine of chrome://tracing, in a headless Chromium without a network."""

import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, Route, sync_playwright

from tests.consumers import ui_version, web_files

#: Timeout of one operation of a page in ms.
PATIENCE = 120_000

COMPLAINT = ".pf-modal-dialog"
LOADED = f"() => document.querySelector('{COMPLAINT}') || (window.app?.trace && !window.app.isLoadingTrace)"
EXPAND = "() => window.app.commands.runCommand('dev.perfetto.ExpandAllGroups')"
IDLE = "() => window.waitForPerfettoIdle()"
TITLES = ".pf-track__title-popup"
#: The sign of data losses in the top bar: the UI shows it for statistics of severity error or data_loss.
LOSSES = ".pf-topbar__error-popup"

CATAPULT = """async ([address, zipped]) => {
    const { body } = await fetch(address);
    const bytes = zipped ? body.pipeThrough(new DecompressionStream('gzip')) : body;
    const model = new tr.Model();
    new tr.importer.Import(model).importTraces([await new Response(bytes).text()]);
    return model.importWarnings.map(warning => `${warning.type}: ${warning.message}`);
}"""


def chromium() -> str | None:
    """The browser of the system."""
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


needs_chromium = pytest.mark.skipif(chromium() is None, reason="Chromium is not installed")


class Files(SimpleHTTPRequestHandler):
    """The files of the UI and, below /t/, one trace."""

    def __init__(self, *arguments: Any, trace: Path) -> None:
        self.trace = trace
        super().__init__(*arguments, directory=str(web_files()))

    def translate_path(self, path: str) -> str:
        return str(self.trace) if path.startswith("/t/") else super().translate_path(path)

    def log_message(self, format: str, *arguments: Any) -> None:
        pass


@contextmanager
def served(trace: Path) -> Iterator[str]:
    """The origin on loopback that serves the UI together with a trace."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Files, trace=trace)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()


@contextmanager
def page_at(origin: str) -> Iterator[Page]:
    """An empty page that reaches this origin only; an exception of the page fails the test at the end."""
    errors: list[str] = []

    def route(request: Route) -> None:
        if request.request.url.startswith(f"{origin}/"):
            request.continue_()
        else:
            request.abort()

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"], timeout=PATIENCE)
        context = browser.new_context(viewport={"width": 1400, "height": 900}, service_workers="block")
        context.route("**/*", route)
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        page.on("pageerror", lambda error: errors.append(str(error)))
        yield page
        browser.close()
    assert not errors, "the page threw:\n" + "\n".join(errors)


def show(trace: Path, picture: Path) -> list[str]:
    """Open a file in the Perfetto UI, save a screenshot with all groups expanded, and return the titles of tracks.

    The titles are those of the visible tracks and their neighbours, from top to bottom. Fails if the UI reports an
    error or losses, or throws; also saves the screenshot then.
    """
    with served(trace) as origin, page_at(origin) as page:
        page.goto(f"{origin}/?testing=1#!/?url={origin}/t/{quote(trace.name)}")
        page.wait_for_function(LOADED)
        complaint = page.locator(COMPLAINT)
        if complaint.count() == 0:
            page.evaluate(EXPAND)
            page.evaluate(IDLE)
        page.screenshot(path=picture)
        assert complaint.count() == 0, f"the Perfetto UI complains about {trace.name}: {complaint.first.inner_text()}"
        assert page.locator(LOSSES).count() == 0, f"the Perfetto UI marks losses in {trace.name}: see assert_clean"
        return page.locator(TITLES).all_text_contents()


def catapult_warnings(trace: Path) -> list[str]:
    """Import Chrome JSON into the engine of chrome://tracing and return its warnings as "type: message"."""
    with served(trace) as origin, page_at(origin) as page:
        page.goto(f"{origin}/{ui_version().name}/assets/catapult_trace_viewer.html")
        page.wait_for_function("() => window.tr?.importer?.Import")
        warnings: list[str] = page.evaluate(CATAPULT, [f"{origin}/t/{quote(trace.name)}", trace.suffix == ".gz"])
        return warnings
