"""Clocks of hosts that transfers of a pipeline bound."""

from array import array
from typing import Any

import pytest

from fastdispatch._core import Error
from fastdispatch.pipeline.transfer_clocks import bound_clocks, require_one_clock
from fastdispatch.read.schedule_jobs import RA, RG, SA, SG

pytest.importorskip("numpy")


def exchanged(skew: int, unsure: int = -1, matched: bool = True) -> dict[str, Any]:
    """Rank 0 sends at 10, rank 1 receives until 12 + ``skew``; the gradient goes back from 20 + ``skew`` until 23."""
    ranks = {
        "rank": [0, 1],
        "line": [0, 0],
        "first": [0, 2],
        "end": [2, 4],
        "moved_ns": [0, 0],
        "unsure_ns": [unsure] * 2,
    }
    jobs = {
        "at": [0, 0, 1, 1],
        "kind": [SA, RG, RA, SG],
        "start": [10, 20, 10 + skew, 20 + skew],
        "end": [12, 23, 12 + skew, 23 + skew],
        "other": [2, 3, 0, 1] if matched else [2, -1, 0, -1],
    }
    return {
        name: {column: memoryview(array("q", values)) for column, values in table.items()}
        for name, table in (("ranks", ranks), ("jobs", jobs))
    }


def test_both_directions_bound_the_offset_by_the_time_of_a_transfer() -> None:
    made = exchanged(5000)
    bound_clocks(made)
    moved, unsure = made["ranks"]["moved_ns"][1], made["ranks"]["unsure_ns"][1]
    assert abs(moved + 5000) <= unsure <= 3
    assert list(made["jobs"]["start"]) == [10, 20, 5010 + moved, 5020 + moved]
    assert list(made["jobs"]["end"]) == [12, 23, 5012 + moved, 5023 + moved]


def test_one_direction_bounds_nothing() -> None:
    made = exchanged(50, matched=False)
    bound_clocks(made)
    assert made["ranks"]["unsure_ns"] == [0, -1]
    assert made["ranks"]["moved_ns"] == [0, 0]
    assert made["jobs"]["start"] == [10, 20, 60, 70]


def test_known_clocks_stay() -> None:
    made = exchanged(-9, unsure=7)
    require_one_clock(made["ranks"])
    bound_clocks(made)
    assert list(made["jobs"]["start"]) == [10, 20, 1, 11]
    assert list(made["ranks"]["unsure_ns"]) == [7, 7]


def test_unknown_clocks_are_refused() -> None:
    with pytest.raises(
        Error, match="the clocks of rank 0 and rank 1 are not aligned: they are of different hosts; omit"
    ):
        require_one_clock(exchanged(0)["ranks"])
