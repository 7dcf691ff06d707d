"""Pages: reachable from docs/README.md, without dead links and paths of missing pages or schemas."""

import re
from pathlib import Path

import pytest

from .tree import ROOT, name, tracked

DOCS = ROOT / "docs"
MOST_PAGES = 50  # of the documentation: fold a page into another one before adding one
PAGES = [path for path in tracked() if path.suffix == ".md"]
SOURCES = (ROOT / "csrc", ROOT / "python" / "fastdispatch")
LINK = re.compile(r"\]\(([^()\s]*)\)")
MENTION = re.compile(r"\bdocs/[\w./-]+\.(?:md|json|py|sh|svg|png)\b")


def text_of(page: Path) -> str:
    """The text of a page without code, in which brackets have another meaning."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    return re.sub(r"`[^`\n]*`(?!\])", "", text)


def anchors(page: Path) -> set[str]:
    """Anchors of headings, as on GitHub."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def links(page: Path) -> list[tuple[Path, str]]:
    """The files to which a page links, with anchors."""
    found = []
    for target in LINK.findall(text_of(page)):
        if not re.match(r"\w+:", target):
            path, _, anchor = target.partition("#")
            found.append(((page.parent / path).resolve() if path else page, anchor))
    return found


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_no_link_is_dead(page: Path) -> None:
    for target, anchor in links(page):
        assert target.exists(), f"{name(page)} links to {target}"
        assert not anchor or anchor in anchors(target), f"{name(page)} links to #{anchor} of {target.name}"


def test_the_documentation_has_few_pages() -> None:
    assert len([page for page in PAGES if page.is_relative_to(DOCS)]) <= MOST_PAGES


def test_every_page_is_reachable_from_the_index() -> None:
    seen: set[Path] = set()
    waiting = [DOCS / "README.md"]
    while waiting:
        page = waiting.pop()
        if page not in seen and page.is_relative_to(DOCS):
            seen.add(page)
            waiting += [target for target, _ in links(page) if target.suffix == ".md"]
    assert sorted(name(page) for page in PAGES if page.is_relative_to(DOCS) and page not in seen) == []


def test_every_schema_and_picture_is_linked() -> None:
    linked = {target for page in PAGES for target, _ in links(page)}
    files = [path for path in tracked() if path.is_relative_to(DOCS) and path.suffix in (".json", ".svg", ".png")]
    assert sorted(name(path) for path in files if path not in linked) == []


def test_no_path_of_a_missing_page_is_named() -> None:
    wrong = []
    for path in tracked():
        if path.suffix in {".c", ".h", ".py", ".pyi", ".md", ".toml", ".sh", ".yml"} or path.name == "Makefile":
            for mention in MENTION.findall(path.read_text(encoding="utf-8")):
                if not (ROOT / mention).exists() and "{" not in mention and "perfetto.dev/" + mention not in mention:
                    wrong.append(f"{name(path)}: {mention}")
    assert wrong == []


def test_source_files_named_by_maps_exist() -> None:
    files = {path.name for path in tracked()}
    places = [part for path in tracked() for part in (path.with_suffix(""), path.parent)]
    inside = {str(place.relative_to(root)) for root in SOURCES for place in places if place.is_relative_to(root)}
    pages = [ROOT / "HACKING.md", ROOT / "CONTRIBUTING.md", *(DOCS / "internals").glob("*.md")]
    wrong = []
    for page in pages:
        for path in re.findall(r"`([\w/.]*\w\.[ch])`", page.read_text(encoding="utf-8")):
            if path.rpartition("/")[2] not in files | {"Python.h"} and "NAME" not in path:
                wrong.append(f"{name(page)}: {path}")
        for path in re.findall(r"`([a-z]+/[a-z_/]+[a-z])`", page.read_text(encoding="utf-8")):
            if path.partition("/")[0] in inside and path not in inside:
                wrong.append(f"{name(page)}: {path}")
    assert wrong == []
