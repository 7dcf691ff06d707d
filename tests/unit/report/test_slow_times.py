"""Intervals of slow steps of one rank."""

from __future__ import annotations

from typing import Any

import pytest

from fastdispatch.detectors.slow_times import slow_steps

CONTEXT, USUAL, EXTRA = 5, 10.0, 100.0
MINUTE = 60 * 10**9
NOON = 1_795_435_200 * 10**9


def rank(slow: set[int], steps: int = 20) -> dict[str, Any]:
    """Steps of a minute from number 100 on. ``slow``: numbers of steps in which the context takes long."""
    numbers = list(range(100, 100 + steps))
    return {
        "start_realtime": NOON,
        "latest_steps": {
            "number": numbers,
            "begin": [row * MINUTE for row in range(steps)],
            "end": [(row + 1) * MINUTE for row in range(steps)],
        },
        "step_tops": {
            "step": [number for number in numbers for _ in range(2)],
            "context": [3, CONTEXT] * steps,
            "self": [self for number in numbers for self in (1000, 110 if number in slow else 10)],
        },
    }


@pytest.mark.parametrize(
    ("slow", "text"),
    [
        ({105, 106, 107}, "in steps 105 to 107, 12:05:00 to 12:08:00 UTC"),
        ({105, 106, 108, 109}, "in steps 105 to 109 (4 of them), 12:05:00 to 12:10:00 UTC"),
        ({119}, "in step 119, 12:19:00 to 12:20:00 UTC"),
        (set(range(100, 120)), "in 20 of the latest 20 steps"),
        ({100, 110, 119}, "None"),
        (set(), "None"),
    ],
)
def test_interval(slow: set[int], text: str) -> None:
    assert str(slow_steps(rank(slow), CONTEXT, USUAL, EXTRA)) == text


def test_other_contexts_are_usual() -> None:
    assert slow_steps(rank({105}), CONTEXT + 1, USUAL, EXTRA) is None
