"""Lines of each folder have a budget that only falls: a feature that needs more replaces another one.

``python -m tests.lint.test_budget`` prints the present numbers.
"""

from __future__ import annotations

from collections import Counter
from functools import cache

import pytest

from .tree import ROOT, tracked

#: Lines of C, Python, JavaScript and style sheets by folder; files of documentation below "pages".
BUDGET: dict[str, int] = {
    ".": 299,
    "benchmarks": 2644,
    "csrc/base": 2662,
    "csrc/capture": 14895,
    "csrc/clocks": 1846,
    "csrc/columns": 1255,
    "csrc/et": 10036,
    "csrc/events": 17088,
    "csrc/export": 448,
    "csrc/gpu": 1729,
    "csrc/graphs": 2487,
    "csrc/json": 1393,
    "csrc/module": 6824,
    "csrc/pipeline": 9302,
    "csrc/profile": 2062,
    "csrc/recording": 5946,
    "csrc/streams": 677,
    "csrc/trace": 8763,
    "docs": 775,
    "pages": 50,
    "python": 100,
    "python/fastdispatch": 850,
    "python/fastdispatch/cli": 4392,
    "python/fastdispatch/compare": 1145,
    "python/fastdispatch/dataset": 1654,
    "python/fastdispatch/detectors": 4439,
    "python/fastdispatch/files": 608,
    "python/fastdispatch/integrations": 400,
    "python/fastdispatch/measures": 1516,
    "python/fastdispatch/page": 5671,
    "python/fastdispatch/pipeline": 6340,
    "python/fastdispatch/read": 2261,
    "python/fastdispatch/record": 3638,
    "python/fastdispatch/report": 4164,
    "python/fastdispatch/testing": 354,
    "python/fastdispatch/text": 123,
    "tests": 930,
    "tests/browser": 1749,
    "tests/c/base": 1803,
    "tests/c/clocks": 870,
    "tests/c/columns": 418,
    "tests/c/et": 3110,
    "tests/c/events": 6492,
    "tests/c/export": 171,
    "tests/c/fuzz": 1097,
    "tests/c/gpu": 1098,
    "tests/c/graphs": 1903,
    "tests/c/json": 515,
    "tests/c/pipeline": 3189,
    "tests/c/profile": 1185,
    "tests/c/recording": 3429,
    "tests/c/streams": 283,
    "tests/c/support": 2595,
    "tests/c/trace": 4107,
    "tests/chakra": 563,
    "tests/consumers": 372,
    "tests/corpus": 645,
    "tests/cpython": 699,
    "tests/frameworks": 1461,
    "tests/gpu": 445,
    "tests/integration": 15733,
    "tests/isolated": 3212,
    "tests/lint": 851,
    "tests/matrix": 310,
    "tests/oracle": 791,
    "tests/programs": 1654,
    "tests/soak": 329,
    "tests/standin": 848,
    "tests/unit": 13349,
    "tests/wheels": 185,
}

#: A budget is lowered when the folder has fewer lines than this below it.
SLACK = 150

_COUNTED = {".c", ".h", ".py", ".pyi", ".js", ".css"}
_DEPTH = {"csrc": 2, "python": 3, "tests": 3}


def folder_of(parts: tuple[str, ...]) -> str:
    """Return the folder of a file: csrc/events, python/fastdispatch/read, tests/c/et, tests/unit."""
    depth = 2 if parts[0] == "tests" and parts[1] != "c" else _DEPTH.get(parts[0], 1)
    return "/".join(parts[:-1][:depth]) or "."


@cache
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
