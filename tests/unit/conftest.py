"""Hypothesis leaves a callback with the collector: it would be a call in the recordings of tests that come later."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def collector_as_before() -> Iterator[None]:
    before = list(gc.callbacks)
    yield
    gc.callbacks[:] = before
