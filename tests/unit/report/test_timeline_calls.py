"""The calls of a timeline in rows by depth."""

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fastdispatch.page.timeline_calls import TimelineCalls, longest

CALL, ASYNC, STEP, JOB, OPEN = 1, 2, 3, 7, 255
Event = tuple[int, int, int, int, int]

#: main: c1 0-100 with c2 10-40 (c3 20-25 in it), a job 50-90 of c4, work that ends by itself, a step; a second thread:
#: c5, open. Start, duration, row of the context + 1, thread, kind.
EVENTS = [
    (20, 5, 3, 0, CALL),
    (10, 30, 2, 0, CALL),
    (50, 40, 4, 0, JOB),
    (0, 100, 1, 0, CALL),
    (30, 80, 6, 0, ASYNC),
    (0, 100, 7, 0, STEP),
    (5, 60, 5, 1, OPEN),
]
NAMES = ("start", "duration", "context", "thread", "kind")


def made(events: list[Event], most: int, flows: list[tuple[int, int]]) -> TimelineCalls:
    columns = np.array(events, np.int64).reshape(-1, len(NAMES)).T
    return longest(dict(zip(NAMES, columns, strict=True)), np.array(flows, np.int64).reshape(-1, 2).T, most)


def told(row: dict[str, Any]) -> str:
    mark = "~" if row["async"] else "?" if row["open"] else ""
    return f"{row['thread']}.{row['depth']}c{row['context'] + 1} {row['start']}+{row['duration']}{mark}"


def test_calls_have_the_depth_of_their_callers() -> None:
    found = made(EVENTS, 100, [(0, 6)])
    assert [*map(told, found.rows)] == [
        "0.0c1 0+100",
        "0.1c2 10+30",
        "0.2c3 20+5",
        "0.1c4 50+40",
        "0.0c6 30+80~",
        "1.0c5 5+60?",
    ]
    assert (found.flows, found.left_out, found.flows_left_out) == ([[2, 5]], 0, 0)


def test_the_longest_are_kept() -> None:
    found = made(EVENTS, 3, [(0, 6)])
    assert [*map(told, found.rows)] == ["0.0c1 0+100", "0.0c6 30+80~", "1.0c5 5+60?"]
    assert (found.flows, found.left_out, found.flows_left_out) == ([], 3, 1)
    none = made(EVENTS, 0, [(0, 6)])
    assert (none.rows, none.left_out, none.flows_left_out) == ([], 6, 1)
    assert made([], 0, []) == TimelineCalls([], [], 0, 0)


def test_of_equals_the_first() -> None:
    found = made([(at, 5, at, 0, CALL) for at in (0, 5, 10)], 2, [])
    assert ([row["start"] for row in found.rows], found.left_out) == ([0, 5], 1)


def test_overlapping_calls_are_shown_one_after_the_other() -> None:
    found = made([(0, 10, 1, 0, CALL), (5, 20, 2, 0, CALL), (6, 2, 3, 1, CALL)], 9, [])
    assert [*map(told, found.rows)] == ["0.0c1 0+10", "0.0c2 10+15", "1.0c3 6+2"]


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=12))
def test_rows_of_any_calls_do_not_overlap(spans: list[tuple[int, int]]) -> None:
    """Each call is within the latest one of the depth above it, and after the one before it at its own depth."""
    spans.sort(key=sum)
    rows = made([(start, length, 0, 0, CALL) for start, length in spans], 99, []).rows
    assert sorted(row["start"] + row["duration"] for row in rows) == [start + length for start, length in spans]
    ends: list[int] = []
    for row in rows:
        start, end, depth = row["start"], row["start"] + row["duration"], row["depth"]
        assert depth <= len(ends)
        assert depth == len(ends) or ends[depth] <= start
        assert depth == 0 or end <= ends[depth - 1]
        ends[depth:] = [end]
