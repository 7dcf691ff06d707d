"""The texts of ``tests/gold``."""

import json
import re
from typing import Any

from tests import processes

FOLDER = processes.ROOT / "tests" / "gold"


def text(name: str) -> str:
    return (FOLDER / f"{name}.txt").read_text()


def table(name: str) -> list[tuple[str, str]]:
    """Rows of two columns, with two or more spaces between them."""
    rows = (re.split(" {2,}", line) for line in text(name).splitlines())
    return [(first, second) for first, second in rows]


def document(name: str) -> Any:
    return json.loads((FOLDER / f"{name}.json").read_text())
