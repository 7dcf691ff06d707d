"""Remove the collector callback of Hypothesis, which would be a call in recordings of later tests."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def collector_as_before() -> Iterator[None]:
    before = list(gc.callbacks)
    yield
    gc.callbacks[:] = before
