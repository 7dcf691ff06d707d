"""The split of collectives into wait and transfer, from known begins and ends."""

from __future__ import annotations

import pytest

from fastdispatch.measures.collective_waits import CLOCKS, NUMBERS, RANKS, Waits, split, waits_of
from fastdispatch.read.collectives import CollectiveCall, GroupCalls

#: Begin and end of each rank in each collective: rank 2 is last in all except the second.
TIMES = [
    [(0, 50), (10, 51), (40, 50)],
    [(100, 150), (130, 150), (120, 151)],
    [(200, 260), (200, 260), (240, 260)],
    [(300, 310), (300, 310), (300 + 5, 310)],
    [(400, 420), (400, 420), (410, 420)],
]
BYTES = 1_000_000


def called(moved: int, begin: int, end: int | None) -> CollectiveCall:
    return CollectiveCall(0, "allreduce_", "float32", moved, False, False, begin, end)


def group(hosts: list[str], clocks: list[int], times: list[list[tuple[int, int]]] = TIMES) -> GroupCalls:
    made = GroupCalls("0", len(hosts), {rank: len(times) for rank in range(len(hosts))})
    made.hosts = dict(enumerate(hosts))
    for number, ranks in enumerate(times, 1):
        made.calls[number] = {
            rank: CollectiveCall(
                0, "allreduce_", "float32", BYTES, False, False, begin + clocks[rank], end + clocks[rank]
            )
            for rank, (begin, end) in enumerate(ranks)
        }
    return made


def only(made: GroupCalls) -> Waits:
    (row,) = waits_of([made])
    return row


def test_a_collective_is_divided_at_the_last_begin() -> None:
    assert split({0: 0, 1: 10, 2: 40}, {0: 50, 1: 51, 2: 50}) == (2, 70, 31)


@pytest.mark.parametrize(
    ("hosts", "clocks"), [("aaa", [0, 0, 0]), ("aab", [0, 0, 10**12]), ("abc", [5, -(10**9), 10**12])]
)
def test_clocks_of_hosts_are_aligned_by_the_ends(hosts: str, clocks: list[int]) -> None:
    row = only(group(list(hosts), clocks))
    assert row.collectives == 5 and not row.undecided
    assert row.wait_ns == (40 + 30) + (30 + 10) + (40 + 40) + (5 + 5) + (10 + 10)
    assert row.wait_ns + row.transfer_ns == sum(end - begin for ranks in TIMES for begin, end in ranks)
    assert row.last == {2: 4, 1: 1}
    assert row.caused_ns == {2: 70 + 80 + 10 + 20, 1: 40}


def test_bus_bandwidth_is_that_of_the_transfer() -> None:
    """2 (n - 1) / n of the bytes, by the mean time of the ranks from the last begin."""
    row = only(group(["a"] * 3, [0] * 3))
    assert row.bus_bandwidth == pytest.approx(5 * BYTES * 4 / 3 / (row.transfer_ns / 3) * 1e9)
    assert row.best_bandwidth == pytest.approx(BYTES * 4 / 3 / 5 * 1e9)  # the fourth
    assert waits_of([group(["a"], [0], [[(0, 9)]])])[0].bus_bandwidth is None


def test_sizes_are_apart() -> None:
    made = group(["a"] * 3, [0] * 3)
    for rank, call in made.calls[2].items():
        made.calls[2][rank] = called(64, call.begin, call.end)
    assert {(row.bytes // row.collectives, row.collectives) for row in waits_of([made])} == {(BYTES, 4), (64, 1)}


def test_too_few_collectives_align_no_clocks() -> None:
    row = only(group(["a", "a", "b"], [0, 0, 7], TIMES[:4]))
    assert row.undecided == {CLOCKS: 4} and row.collectives == row.wait_ns == 0
    ahead = group(["a", "a", "b"], [0, 0, 7])
    ahead.counts[2] += 1  # equal numbers are other collectives
    assert only(ahead).undecided == {CLOCKS: 5}


def test_no_split_of_other_collectives_or_without_a_rank() -> None:
    shifted = group(["a"] * 3, [0, 0, 100])
    assert only(shifted).undecided == {NUMBERS: 5}
    made = group(["a"] * 3, [0] * 3)
    del made.calls[1][2]
    row = only(made)
    assert row.undecided == {RANKS: 1} and row.collectives == 4
