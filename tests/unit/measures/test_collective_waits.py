"""The split of collectives into wait and transfer, from known begins and ends."""

import json
from pathlib import Path
from typing import Any

import pytest

import fastdispatch
from fastdispatch.measures.collective_waits import (
    CLOCKS,
    GROUP,
    NUMBERS,
    PARTIAL,
    RANKS,
    STEPS,
    Waits,
    split,
    uses_device,
    waits,
    waits_of,
)
from fastdispatch.read.collectives import CollectiveCall, GroupCalls
from fastdispatch.report.report_collectives import collective_lines, collectives
from tests.unit.report.call_trees import Dump

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


#: Kernels of each rank: number and ns of each all_reduce, in the order of the algorithms; rank 1 begins last.
RING = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
TREE = "ncclDevKernel_AllReduce_Sum_bf16_TREE_LL128"
SENT = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)"
NS = {RING: [9000, 3000, 8000], TREE: [500, 400, 600], SENT: [70, 70, 70]}
CALLS, MOVED = 10, 25_000_000


def recorded(path: Path, group: str = "0:3", calls: tuple[int, ...] = (CALLS,) * 3) -> fastdispatch.Trace:
    """Three ranks with kernels of NCCL below operators of c10d, each operator with one algorithm."""
    names = {RING: "op:c10d::allreduce_", TREE: "op:c10d::_allreduce_more", SENT: "op:c10d::alltoall_base_"}
    trees = []
    for rank in range(3):
        below = [(names[key], CALLS, 1, [(f"kernel:{key}", 0, 0, [], "", {"gpu": NS[key][rank]})]) for key in NS]
        trees.append([("train.py:[]:main", 1, 1, below)])
    made = Dump(*trees)
    document: dict[str, Any] = json.loads(made.write(path).read_text())
    strings = document["strings"]
    strings.append(f"float32 {group}")
    kinds = [strings[document["nodes"]["name"][node]] for node in document["contexts"]["node"]]
    operators = [row for row, name in enumerate(kinds) if name.startswith("c10d::")]
    for rank, count in zip(document["ranks"], calls, strict=True):
        rank["gpu"]["calls"] = [count] * 3
        columns = {"context": operators, "kind": [3] * 3, "flags": [0] * 3, "detail": [len(strings) - 1] * 3}
        figures = {"count": [count] * 3, "max": [MOVED] * 3, **dict.fromkeys(("sum", "other"), [count * MOVED] * 3)}
        ranges = ("ranks", "range_min", "range_max", "range_min_rank", "range_max_rank")
        rank["measures"] = columns | figures | dict.fromkeys(ranges, [0] * 3)
    path.write_text(json.dumps(document))
    return fastdispatch.load(path)


def test_kernels_of_nccl_are_divided_by_the_shortest_of_the_ranks(tmp_path: Path) -> None:
    trace = recorded(tmp_path / "run.json")
    ring, tree, sent = waits(trace)
    assert uses_device(trace)
    assert (ring.operator, ring.algorithm, ring.group, ring.collectives) == ("all_reduce", "RING LL", "0", CALLS)
    assert ring.bytes == CALLS * MOVED
    assert (ring.wait_ns, ring.transfer_ns) == (6000 + 0 + 5000, 3 * 3000)
    assert ring.caused_ns == {1: 11_000} and not ring.last and ring.best_bandwidth is None
    assert ring.bus_bandwidth == pytest.approx(CALLS * MOVED * 4 / 3 / 3000 * 1e9)
    assert (tree.algorithm, tree.wait_ns, tree.transfer_ns) == ("TREE LL128", 300, 1200)
    assert (sent.operator, sent.undecided, sent.time_ns) == ("send and recv", {PARTIAL: CALLS}, 210)
    rows = collectives(trace)
    assert [(row.wait_ns, row.last_rank) for row in rows] == [(366, 1), (10, 1), (None, None)]
    assert all(row.at_least for row in rows)
    sentence, _, *cells = collective_lines(rows)
    assert sentence == "all_reduce of 25 MB: 666 ns, of which at least 366 ns are the wait for rank 1"
    assert cells[0].endswith("all_reduce of 25 MB of group 0, RING LL, rank 1") and "\u2265 366 ns" in cells[0]


@pytest.mark.parametrize(
    ("group", "calls", "reason"),
    [("?:0", (CALLS,) * 3, GROUP), ("0:4", (CALLS,) * 3, STEPS), ("0:3", (CALLS, CALLS, CALLS + 1), STEPS)],
)
def test_kernels_that_cannot_be_compared_have_no_split(
    tmp_path: Path, group: str, calls: tuple[int, ...], reason: str
) -> None:
    rows = [row for row in waits(recorded(tmp_path / "run.json", group, calls)) if row.operator == "all_reduce"]
    assert [row.time_ns for row in rows] == [20_000, 1500]
    assert [(row.collectives, row.wait_ns, [*row.undecided]) for row in rows] == [(0, 0, [reason])] * 2
