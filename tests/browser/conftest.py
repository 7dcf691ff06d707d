"""One browser for all tests, and the displayed recordings."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import fastdispatch


@pytest.fixture(scope="package")
def browser() -> Iterator[object]:
    """Close the browser before other tests start theirs: a thread can have only one."""
    from tests.browser.opened import launched

    with launched() as found:
        yield found


@pytest.fixture(scope="package")
def gpt(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a recording of the example and its page: two layers, two steps, a timeline."""
    import pretrain

    from fastdispatch.page.html import PageOptions, page

    folder = tmp_path_factory.mktemp("gpt")
    with fastdispatch.CallGraph(folder, timeline=True):
        pretrain.pretrain(2, 2, pretrain.Config(layers=2))
    made = page(fastdispatch.load(folder, timeline=True), str(folder), PageOptions(source=True))
    (folder / "page.html").write_bytes(made)
    return folder
