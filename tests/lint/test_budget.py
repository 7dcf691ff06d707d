"""Lines of each folder have a budget that only falls: a feature that needs more replaces another one.

``python -m tests.lint.test_budget`` prints the present numbers.
"""

from collections import Counter
from functools import cache

import pytest

from .tree import ROOT, tracked

#: Lines of C, Python, JavaScript and style sheets by folder, rounded up to 50; "pages": files of documentation.
BUDGET: dict[str, int] = {
    ".": 300,
    "benchmarks": 2800,
    "csrc/base": 2900,
    "csrc/capture": 17750,
    "csrc/clocks": 700,
    "csrc/columns": 1150,
    "csrc/et": 5600,
    "csrc/events": 8600,
    "csrc/gpu": 4650,
    "csrc/json": 1450,
    "csrc/module": 5450,
    "csrc/pipeline": 2900,
    "csrc/profile": 850,
    "csrc/recording": 7750,
    "csrc/streams": 750,
    "csrc/trace": 6250,
    "docs": 850,
    "pages": 50,
    "python": 100,
    "python/fastdispatch": 1100,
    "python/fastdispatch/cli": 4400,
    "python/fastdispatch/compare": 2100,
    "python/fastdispatch/dataset": 1800,
    "python/fastdispatch/detectors": 5150,
    "python/fastdispatch/files": 750,
    "python/fastdispatch/graphs": 1150,
    "python/fastdispatch/integrations": 400,
    "python/fastdispatch/measures": 1900,
    "python/fastdispatch/page": 5750,
    "python/fastdispatch/pipeline": 7300,
    "python/fastdispatch/read": 8150,
    "python/fastdispatch/record": 4450,
    "python/fastdispatch/report": 6100,
    "python/fastdispatch/testing": 350,
    "python/fastdispatch/text": 450,
    "tests": 1250,
    "tests/browser": 1750,
    "tests/c/base": 1750,
    "tests/c/clocks": 300,
    "tests/c/columns": 400,
    "tests/c/et": 1750,
    "tests/c/events": 2950,
    "tests/c/fuzz": 850,
    "tests/c/gpu": 2350,
    "tests/c/json": 550,
    "tests/c/pipeline": 700,
    "tests/c/profile": 450,
    "tests/c/recording": 3700,
    "tests/c/streams": 300,
    "tests/c/support": 2350,
    "tests/c/trace": 2550,
    "tests/chakra": 550,
    "tests/consumers": 400,
    "tests/cpython": 700,
    "tests/frameworks": 1450,
    "tests/gpu": 1250,
    "tests/integration": 16600,
    "tests/isolated": 4500,
    "tests/lint": 900,
    "tests/matrix": 450,
    "tests/oracle": 750,
    "tests/programs": 1550,
    "tests/soak": 750,
    "tests/standin": 1850,
    "tests/unit": 18050,
    "tests/wheels": 200,
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
