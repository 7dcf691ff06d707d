"""csrc/README.md names every file there is and none that is not."""

from __future__ import annotations

import re
from pathlib import Path

CSRC = Path(__file__).parent.parent.parent / "csrc"
TOUR = (CSRC / "README.md").read_text()


def named() -> list[str]:
    """Files of the reading order, with their folders: `chunks.c .h`, `read_shared.c`."""
    found = []
    for folder, body in re.findall(r"^### (\w+)/.*?\n(.*?)(?=^##|\Z)", TOUR, re.M | re.S):
        for names in re.findall(r"^\| ((?:`[\w.]+`,? ?(?:`\.h`)?)+) \|", body, re.M):
            stem = ""
            for name in re.findall(r"`([\w.]+)`", names):
                stem = stem if name.startswith(".") else name.rpartition(".")[0]
                found.append(f"{folder}/{stem}.{name.rpartition('.')[2]}")
    return found


def test_every_file_is_named_once() -> None:
    there = sorted(path.relative_to(CSRC).as_posix() for path in CSRC.rglob("*.[ch]"))
    assert sorted(named()) == there


def test_folders_come_in_the_order_of_includes() -> None:
    order = re.findall(r"^### (\w+)/", TOUR, re.M)
    assert sorted(order) == sorted(path.name for path in CSRC.iterdir() if path.is_dir())
    for place, folder in enumerate(order):
        for path in (CSRC / folder).glob("*.[ch]"):
            for included in re.findall(r'^#include "(\w+)/', path.read_text(), re.M):
                assert included in order[: place + 1], f"{path.name} includes {included}/"
