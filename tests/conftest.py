"""Shared by all tests: the example GPT as a module, small enough for a test."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "docs" / "examples"

sys.path.insert(0, str(EXAMPLES / "gpt"))

try:
    import torch
except ImportError:  # Python versions for which the tests install no PyTorch
    torch = None

if torch is not None:
    torch.set_num_threads(1)  # tests run on few cores, beside each other
else:
    collect_ignore_glob = ["**/torch_*", "**/test_*torch*.py"]


@pytest.fixture
def examples() -> Path:
    return EXAMPLES
