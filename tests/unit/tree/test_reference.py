"""docs/reference agrees with the program; the READMEs of csrc/ name every existing file and no other."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

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


CSRC = Path(__file__).parents[3] / "csrc"
LAYERS = sorted(path.name for path in CSRC.iterdir() if path.is_dir())


def named(layer: str) -> list[str]:
    """Files of the tables, with their folders: `chunks.c`, `.h`."""
    found = []
    for part in re.split(r"^## ", (CSRC / layer / "README.md").read_text(), flags=re.M):
        folder = layer if part.startswith("# ") else f"{layer}/{part.partition('/')[0]}"
        for names in re.findall(r"^\| ((?:`[\w.]+`(?:, )?)+) \|", part, re.M):
            stem = ""
            for name in re.findall(r"`([\w.]+)`", names):
                stem = stem if name.startswith(".") else name.rpartition(".")[0]
                found.append(f"{folder}/{stem}.{name.rpartition('.')[2]}")
    return found


@pytest.mark.parametrize("layer", LAYERS)
def test_every_file_is_named_once(layer: str) -> None:
    there = sorted(path.relative_to(CSRC).as_posix() for path in (CSRC / layer).rglob("*.[ch]"))
    assert sorted(named(layer)) == there


def test_the_tour_names_every_layer_in_the_order_of_includes() -> None:
    order = re.findall(r"^\| \[`(\w+)/`\]", (CSRC / "README.md").read_text(), re.M)
    assert sorted(order) == LAYERS
    for index, layer in enumerate(order):
        for path in (CSRC / layer).rglob("*.[ch]"):
            for included in re.findall(r'^#include "(\w+)/', path.read_text(), re.M):
                assert included in order[: index + 1], f"{path.name} includes {included}/"


PACKAGE = CSRC.parent / "python" / "fastdispatch"
PACKAGES = sorted(path.name for path in PACKAGE.iterdir() if len([*path.glob("*.py")]) > 11)


@pytest.mark.parametrize("package", PACKAGES)
def test_readmes_of_large_packages_name_every_module_once(package: str) -> None:
    found = []
    for part in re.split(r"^## ", (PACKAGE / package / "README.md").read_text(), flags=re.M):
        folder = "" if part.startswith("# ") else part.partition("/")[0] + "/"
        found += [folder + name for name in re.findall(r"^\| `(\w+\.py)` \|", part, re.M)]
    there = (path.relative_to(PACKAGE / package).as_posix() for path in (PACKAGE / package).rglob("*.py"))
    assert sorted(found) == sorted(name for name in there if not name.endswith("__init__.py"))
