"""Growth over steps: a leak is steady, caches are not; on a slower machine all phases grow."""

from collections import Counter

import pytest

from fastdispatch.detectors.memory_growth import growth
from fastdispatch.detectors.slowdown import grew_alike

UNIT = 2_000_000  # bytes
STEPS = range(1, 21)


def rank(memory: list[float]) -> dict[str, object]:
    return {"rank": 3, "marks": {"steps": list(STEPS), "memory": [int(each) for each in memory]}}


def test_a_leak_is_steady() -> None:
    found = growth(rank([240 * UNIT + step * UNIT for step in STEPS]))
    assert found is not None
    assert (found.rank, found.per_step, found.steps) == (3, UNIT, 15)


def test_few_megabytes_are_an_allocator() -> None:
    assert growth(rank([240 * UNIT + step * UNIT / 2 for step in STEPS])) is None


@pytest.mark.parametrize("jump", STEPS)
def test_pages_returned_at_once_do_not_leak(jump: int) -> None:
    """The system reclaims pages of an idle process under load; the next access brings them back."""
    assert growth(rank([(240 + 13 * (step >= jump)) * UNIT for step in STEPS])) is None


@pytest.mark.parametrize("full", [8, 10, 12, 15])
def test_a_filling_cache_does_not_leak(full: int) -> None:
    assert growth(rank([(240 + min(step, full)) * UNIT for step in STEPS])) is None


@pytest.mark.parametrize("other", [6, 8, 11, 14])
def test_two_jumps_do_not_leak(other: int) -> None:
    assert growth(rank([(240 + 6 * (step >= other) + 6 * (step >= other + 5)) * UNIT for step in STEPS])) is None


@pytest.mark.parametrize(
    ("after", "alike"),
    [
        ((188, 282, 470, 60), False),  # nothing grew
        ((592, 1036, 1429, 78), False),  # all but the optimizer: more data
        ((400, 600, 1100, 110), True),
        ((188, 282, 1410, 60), False),  # the backward pass
    ],
)
def test_phases_grow_alike_on_a_slower_machine(after: tuple[int, ...], alike: bool) -> None:
    before = Counter(dict(enumerate((188, 282, 470, 60))))
    assert grew_alike(before, Counter(dict(enumerate(after)))) is alike
