"""``allocator-retry``: the allocator of the GPU frees its cache and tries again."""

from __future__ import annotations

from collections.abc import Iterator

from fastdispatch.detectors.measured_steps import Steps
from fastdispatch.detectors.model import NotDecided

ID = "allocator-retry"


def find(steps: Steps) -> Iterator[NotDecided]:
    if any(steps.paths["gpu_calls"]):
        yield NotDecided(ID, "retries of the allocator are not recorded")
    else:
        yield NotDecided(ID, "no GPU time was recorded")
