"""Words that may not occur in tracked files."""

from __future__ import annotations

import re

from .tree import name, tracked

# Spelled in parts, so that this file does not find itself.
MARKS = re.compile(r"\b(" + "TO" + "DO|FIX" + "ME|XX" + "X)\\b")
PLACES = re.compile(r"(?<![\w.])/(?:wo" + r"rk|op" + r"t/fd|tm" + r"p/(?:setup|build|lint))\b|/home/\w+/\w+/")
TEXTS = {".c", ".h", ".py", ".md", ".toml", ".sh", ".yml", ".txt", ".json", ".cfg", ".html", ".css", ".js", ".pyi", ""}


def lines_with(pattern: re.Pattern[str]) -> list[str]:
    found = []
    for path in tracked():
        if path.suffix in TEXTS:
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                if pattern.search(line):
                    found.append(f"{name(path)}:{number}: {line.strip()[:80]}")
    return found


def test_nothing_is_left_to_do() -> None:
    assert lines_with(MARKS) == []


def test_no_paths_of_one_machine() -> None:
    assert lines_with(PLACES) == []
