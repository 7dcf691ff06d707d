"""Lines of each folder have a budget that only falls: a feature that needs more replaces another one.

``python -m tests.lint.test_budget`` prints the present numbers.
"""

from __future__ import annotations

from collections import Counter

import pytest

from .tree import ROOT, tracked

#: Lines of C, Python, JavaScript and style sheets by folder; files of documentation below "pages".
BUDGET: dict[str, int] = {}

#: A budget is lowered when the folder has fewer lines than this below it.
SLACK = 150

_COUNTED = {".c", ".h", ".py", ".pyi", ".js", ".css"}
_DEPTH = {"csrc": 2, "python": 3, "tests": 3}


def folder_of(parts: tuple[str, ...]) -> str:
    """Return the folder of a file: csrc/events, python/fastdispatch/read, tests/c/et, tests/unit."""
    depth = 2 if parts[0] == "tests" and parts[1] != "c" else _DEPTH.get(parts[0], 1)
    return "/".join(parts[:-1][:depth]) or "."


def lines_of_folders() -> Counter[str]:
    lines: Counter[str] = Counter()
    for path in tracked():
        parts = path.relative_to(ROOT).parts
        if path.suffix in _COUNTED:
            lines[folder_of(parts)] += len(path.read_bytes().splitlines())
        elif path.suffix == ".md" and parts[0] == "docs":
            lines["pages"] += 1
    return lines


@pytest.mark.parametrize("folder", sorted(BUDGET))
def test_lines_of_a_folder(folder: str) -> None:
    lines = lines_of_folders()[folder]
    assert lines <= BUDGET[folder], f"{folder} has {lines} lines: remove what a new feature replaces"
    assert lines > BUDGET[folder] - SLACK, f"lower the budget of {folder} to {lines}"


def test_every_folder_has_a_budget() -> None:
    assert set(lines_of_folders()) == set(BUDGET)


if __name__ == "__main__":
    for folder, lines in sorted(lines_of_folders().items()):
        print(f'    "{folder}": {lines},')
