"""Communication of several ranks compared, and boxes of pictures."""

from pathlib import Path

import pytest

from fastdispatch.compare.et_ranks import Communication, RankCalls, compare_ranks
from fastdispatch.graphs.et_boxes import collapsed
from fastdispatch.read.execution_trace import COLLECTIVES, SEND, et_tables
from tests.unit.et.test_et import document, node, write

#: Letters of calls: the group, bytes, type and collective.
CALLS = {
    "R": ("1", 4, SEND + 2, "ALL_REDUCE"),
    "r": ("1", 8, SEND + 2, "ALL_REDUCE"),
    "x": ("1", 4, SEND + 2, "BARRIER"),
    "g": ("1", 4, SEND + 2, "GATHER"),
    "h": ("1", 8, SEND + 2, "GATHER"),
    "B": ("2", 4, SEND + 2, "BROADCAST"),
    "s": ("", 4, SEND, ""),
    "v": ("", 4, SEND + 1, ""),
    "w": ("", 8, SEND + 1, ""),
}


def rank_of(rank: int, calls: str, groups: set[str] | None = None, peer: int | None = None) -> RankCalls:
    """Messages are to the other one of two ranks."""
    made = []
    for at, letter in enumerate(calls):
        group, size, type, name = CALLS[letter]
        number = COLLECTIVES.index(name) if name else -1
        made.append(Communication(10 + at, letter, group, size, type, number, 1 - rank if peer is None else peer))
    return RankCalls(rank, made, groups or set())


@pytest.mark.parametrize(
    ("one", "other", "matching", "mismatch"),
    [
        ("RBR", "RRB", (3, 0), None),  # groups are apart
        ("RrR", "RRR", (1, 0), ("size", "1", 2)),
        ("RR", "Rx", (1, 0), ("kind", "1", 2)),
        ("g", "h", (1, 0), None),
        ("RR", "RRR", (2, 0), ("missing", "1", 3)),
        ("R", "", (1, 0), None),  # not a member of the group
        ("ss", "vv", (0, 2), None),
        ("sv", "vs", (0, 2), None),
        ("ss", "v", (0, 1), ("receive", "", 2)),
        ("s", "vv", (0, 1), ("send", "", 2)),
        ("s", "w", (0, 0), ("message_size", "", 1)),
    ],
)
def test_two_ranks(one: str, other: str, matching: tuple[int, int], mismatch: tuple[str, str, int] | None) -> None:
    found = compare_ranks([rank_of(0, one), rank_of(1, other)])
    assert (found["collectives"], found["messages"]) == matching
    rows = [(row["what"], row["group"], row["number"]) for row in found["mismatches"]]
    assert rows == ([mismatch] if mismatch else [])


def test_a_member_that_never_calls_its_group() -> None:
    found = compare_ranks([rank_of(0, "R"), rank_of(1, "", {"1"}), rank_of(2, "")])
    (row,) = found["mismatches"]
    assert row["one"] == {"id": 10, "name": "R", "bytes": 4, "rank": 0}
    assert row["other"] == {"id": None, "name": None, "bytes": None, "rank": 1}


def test_an_unknown_peer() -> None:
    found = compare_ranks([rank_of(0, "s", peer=-1), rank_of(1, "")])
    assert found == {"collectives": 0, "messages": 0, "unknown_peers": 1, "mismatches": []}


def test_boxes(tmp_path: Path) -> None:
    """Two steps: each calls `a` and `b`, and `b` calls `a`."""
    nodes = [node(3, 2, "step"), node(4, 3, "a"), node(5, 3, "b"), node(6, 5, "a")]
    nodes += [node(7, 2, "step"), node(8, 7, "a"), node(9, 7, "b"), node(10, 9, "a")]
    tables = et_tables(write(tmp_path / "et.json", document(*nodes)))["tables"]
    modes = {most: collapsed(tables, most) for most in (10, 9, 5, 4)}
    assert [graph["mode"] for graph in modes.values()] == ["each", "parent", "name", "size"]
    names = ["[pytorch|profiler|execution_trace|process]", "[pytorch|profiler|execution_trace|thread]"]
    assert modes[9]["boxes"]["name"] == [*names, "step", "a", "b", "a"]
    assert modes[9]["boxes"]["count"] == [1, 1, 2, 2, 2, 2]
    assert dict(zip(modes[5]["boxes"]["name"], modes[5]["boxes"]["count"], strict=True))["a"] == 4
    lines = modes[5]["lines"]
    calls = {ends[:2]: ends[2] for ends in zip(lines["from"], lines["to"], lines["calls"], strict=True) if ends[2]}
    assert calls == {(0, 1): 1, (1, 2): 2, (2, 3): 2, (2, 4): 2, (4, 3): 2}
    assert modes[4]["boxes"]["others"] == [False, False, False, True] and modes[4]["names"] == 2
    assert sum(modes[4]["boxes"]["count"]) == 10
