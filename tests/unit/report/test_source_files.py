"""Source files of a recording: only Python files of the recorded program, and only where every function fits."""

from pathlib import Path

import pytest

from fastdispatch.page.html import _text
from fastdispatch.read.source_files import find_source

MODULE = """import functools

@functools.cache
# a comment
def cached():
    return [
        each for each in (lambda: range(3))()]

class Model:
    async def forward(self):
        pass
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "model.py").write_text(MODULE)
    (inside / "secret.env").write_text(MODULE)
    (tmp_path / "outside.py").write_text(MODULE)
    (inside / "link.py").symlink_to(tmp_path / "outside.py")
    (inside / "loop.py").symlink_to(inside / "loop.py")
    return inside


@pytest.mark.parametrize(
    "functions",
    [
        [("cached", 3)],
        [("<module>", 1), ("cached", 3), ("<listcomp>", 6), ("<lambda>", 7), ("Model", 9), ("forward", 10)],
    ],
)
def test_a_file_whose_functions_begin_on_their_lines(folder: Path, functions: list[tuple[str, int]]) -> None:
    path, lines = find_source("model.py", [folder], functions)
    assert path == folder / "model.py"
    assert "".join(lines) == MODULE


@pytest.mark.parametrize(
    "function",
    [
        ("cached", 4),
        ("cache", 3),
        ("other", 3),
        ("Mod", 9),
        ("<lambda>", 1),
        ("<module>", 2),
        ("<x>", 1),
        ("f", 0),
        ("f", 99),
    ],
)
def test_a_function_that_does_not_begin_there(folder: Path, function: tuple[str, int]) -> None:
    assert find_source("model.py", [folder], [("cached", 3), function]) == (None, [])


@pytest.mark.parametrize(
    "name", ["secret.env", "../outside.py", "link.py", "loop.py", "{folder}/model.py", "<string>", ""]
)
def test_files_that_are_never_read(folder: Path, name: str) -> None:
    assert find_source(name.format(folder=folder), [folder], [("cached", 3)]) == (None, [])


def test_a_long_function_that_is_cut_inside_a_bracket() -> None:
    lines = ["def table():\n", "    return [\n", *("        1,\n" for _ in range(1000)), "    ]\n"]
    assert _text(lines, 1).splitlines() == "".join(lines[:400]).splitlines()
