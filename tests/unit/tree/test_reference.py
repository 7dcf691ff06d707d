"""docs/reference/cli.md agrees with the argument parser, python.md names everything public."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import fastdispatch
from fastdispatch import pipeline

REFERENCE = Path(__file__).parents[3] / "docs" / "reference"


def test_the_command_line_page_is_current() -> None:
    done = subprocess.run([sys.executable, REFERENCE / "make_cli.py", "--check"])
    assert done.returncode == 0, "run: python docs/reference/make_cli.py"


def test_the_python_page_names_all_public_names() -> None:
    page = (REFERENCE / "python.md").read_text(encoding="utf-8")
    for name in fastdispatch.__all__:
        assert f"`{name}" in page or f"`fastdispatch.{name}" in page, name
    for name in pipeline.__all__:
        assert f"`pipeline.{name}" in page, name
