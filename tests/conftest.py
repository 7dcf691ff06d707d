"""Shared by all tests: the example GPT as a module, and the selection of tests without PyTorch."""

import gc
import os
import re
import signal
import sys
from collections import Counter
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "docs" / "examples"

sys.path.insert(0, str(EXAMPLES / "gpt"))

# A background job of a shell ignores interrupts, which programs started by the tests would inherit.
signal.signal(signal.SIGINT, signal.default_int_handler)

#: Other Python versions, and `make check`, run the tests without PyTorch.
WITHOUT_TORCH = find_spec("torch") is None or "WITHOUT_TORCH" in os.environ
NEEDS_MORE = re.compile(
    r"^(?:import|from) (?:torch|pandas|playwright|pretrain|tests\.training|tests\.consumers|tests\.browser)\b"
    r'|^(?:torch = )?pytest\.importorskip\("torch"\)',
    re.MULTILINE,
)

#: Tests of what is read and computed. With FEW_CASES, which tests/versions.py sets, they run the first cases of their
#: tables; those of what is recorded, which differs between versions of Python, run all cases.
OFFLINE = (
    *("tests/integration/timelines/", "tests/unit/cli/", "tests/unit/et/", "tests/unit/formats/"),
    *("tests/unit/measures/", "tests/unit/pipelines/", "tests/unit/report/"),
)
FEW = 3

if not WITHOUT_TORCH:
    import torch

    torch.set_num_threads(1)  # tests run in parallel on few cores


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    if collection_path == ROOT / "tests" / "chakra" and "CHAKRA" not in os.environ:
        return True  # make test-consumers
    wanted = WITHOUT_TORCH and collection_path.name.startswith("test_") and collection_path.suffix == ".py"
    return True if wanted and NEEDS_MORE.search(collection_path.read_text()) else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    left_out = {item for item in items if WITHOUT_TORCH and item.get_closest_marker("torch")}
    cases: Counter[str] = Counter()
    for item in items if "FEW_CASES" in os.environ else ():
        name = item.nodeid.partition("[")[0]
        cases[name] += 1
        left_out |= {item} if name.startswith(OFFLINE) and cases[name] > FEW else set()
    items[:] = [item for item in items if item not in left_out]
    config.hook.pytest_deselected(items=[*left_out])


@pytest.fixture
def examples() -> Path:
    return EXAMPLES


@pytest.fixture
def every_tool_id_is_taken() -> Iterator[None]:
    for tool in (2, 3, 4, 5):
        sys.monitoring.use_tool_id(tool, "test")
    yield
    for tool in (2, 3, 4, 5):
        sys.monitoring.free_tool_id(tool)


@pytest.fixture(autouse=True)
def collector_as_before() -> Iterator[None]:
    """Remove the collector callback of Hypothesis, which would be a call in recordings of later tests."""
    before = list(gc.callbacks)
    yield
    gc.callbacks[:] = before
