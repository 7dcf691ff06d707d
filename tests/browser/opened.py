"""A page opened from the disk in a headless Chromium without a network, and large or unusual recordings."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Request, sync_playwright

from tests.consumers.browser import chromium
from tests.unit.report import call_trees

#: Time limit of one action of a page in milliseconds, on a busy machine.
PATIENCE = 60_000

READY = "body[data-ready=yes]"


@contextmanager
def launched() -> Iterator[Browser]:
    """The browser of the system. A thread can have only one."""
    if chromium() is None:
        pytest.skip("Chromium is not installed")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"], timeout=PATIENCE)
        yield browser
        browser.close()


@contextmanager
def opened(browser: Browser, file: Path, fragment: str = "") -> Iterator[Page]:
    """The loaded page. Fails if it requests other files, throws, or writes an error to the console."""
    faults: list[str] = []

    def asked(request: Request) -> None:
        if request.url.split("#")[0] != file.as_uri():
            faults.append(f"requested {request.url}")

    context = browser.new_context(viewport={"width": 1400, "height": 860}, offline=True)
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    page.on("request", asked)
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda message: faults.append(message.text) if message.type in ("error", "warning") else None)
    page.on("dialog", lambda dialog: faults.append(f"dialog {dialog.message}"))
    page.goto(f"{file.as_uri()}#{fragment}")
    page.wait_for_selector(READY)
    yield page
    context.close()
    assert not faults, "\n".join(faults)


#: JavaScript: two frames are drawn after a change, so everything that it caused has been drawn.
_DRAWN = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"


def drawn(page: Page) -> None:
    """Wait until the page has been drawn since the last action."""
    page.evaluate(_DRAWN)


def address(page: Page) -> str:
    """The address by the page itself: ``page.url`` follows later."""
    return str(page.evaluate("location.href"))


def look(page: Page, **state: object) -> None:
    """Change the state, as by editing the address."""
    words = "&".join(f"{name}={value}" for name, value in state.items())
    page.evaluate(
        """words => new Promise(done => {
            if (location.hash === "#" + words) { done(); return; }
            addEventListener("hashchange", done, {once: true});
            location.hash = words;
        })""",
        words,
    )
    drawn(page)


STYLE = Path(__file__).parents[2] / "python/fastdispatch/page/assets/page.css"


def painted(page: Page, canvas: str) -> dict[str, int]:
    """Pixels of each colour of the page's style (``tone-same``, ``package-1``) on a canvas."""
    seen = page.evaluate(
        """canvas => { const c = document.querySelector(canvas);
        const copy = new OffscreenCanvas(c.width, c.height).getContext('2d');
        copy.drawImage(c, 0, 0);
        const d = copy.getImageData(0, 0, c.width, c.height).data; const seen = {};
        for (let i = 0; i < d.length; i += 4) { const k = [d[i], d[i+1], d[i+2]].join(); seen[k] = (seen[k] ?? 0) + 1; }
        return seen; }""",
        canvas,
    )
    style = re.findall(r"--([\w-]+): #(\w{6})", STYLE.read_text())
    return {
        name: seen.get(",".join(str(int(code[at : at + 2], 16)) for at in (0, 2, 4)), 0)
        for name, code in reversed(style)
    }


class Dump(call_trees.Dump):
    """A dump of one rank, built call by call, with any names; ``facts`` are members of the rank."""

    def __init__(self, **facts: Any) -> None:
        super().__init__([])
        self.facts = facts
        self.figures[0][self.root] = (1, 1000)

    def call(self, parent: int, kind: int, file: str, class_name: str, name: str, package: str, **more: int) -> int:
        """One path of calls; ``more`` may have line, flags, calls and own (ns)."""
        node = (kind, 0, *map(self.text, (file, class_name, name, "", package)), more.get("line", 0))
        at = self.contexts.setdefault((parent, self.nodes.setdefault(node, len(self.nodes)), ""), len(self.contexts))
        self.flags[at] = more.get("flags", 0)
        self.figures[0][at] = (more.get("calls", 1), more.get("own", 1000))
        return at

    def rank(self, number: int) -> dict[str, Any]:
        return super().rank(number) | self.facts
