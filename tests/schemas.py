"""The schemas of the JSON that commands print."""

import json
from typing import Any

import pytest

from tests import processes

FOLDER = processes.ROOT / "docs" / "reference" / "schemas"


def schema(name: str) -> Any:
    return json.loads((FOLDER / f"{name}.schema.json").read_text())


def valid(document: Any, name: str) -> Any:
    """The document, which its schema must allow."""
    pytest.importorskip("jsonschema").validate(document, schema(name))
    return document
