"""Ranks, steps and stray times of traces, from rows of slices."""

import json
import random
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fastdispatch.report import stray_times
from fastdispatch.report.stray_times import SECOND, TimeGroups
from fastdispatch.report.timeline_figures import Stats, read_stats
from fastdispatch.report.timeline_steps import Ranges, disjoint_steps, steps_of_ranges
from fastdispatch.report.trace_outline import find_steps

Event = dict[str, Any]


def piece(pid: int, cat: str, name: str, ts: float, dur: float) -> Event:
    return {"ph": "X", "pid": pid, "tid": 1, "cat": cat, "name": name, "ts": ts, "dur": dur}


def process(pid: int, name: str) -> Event:
    return {"ph": "M", "name": "process_name", "pid": pid, "args": {"name": name}}


def stats_of(folder: Path, *files: list[Event], **members: Any) -> Stats:
    paths = []
    for index, events in enumerate(files):
        program = {"recordings": []} if index else {}
        path = folder / f"r{index}.json"
        path.write_text(json.dumps({**program, "distributedInfo": {"rank": 5}, "traceEvents": events, **members}))
        paths.append((str(path), 5))
    return read_stats(paths, "none", None, None)


def test_ranks_of_processes(tmp_path: Path) -> None:
    lost = {"ph": "i", "pid": 1, "name": "12 events found no room in the timeline", "ts": 99}
    found = stats_of(
        tmp_path,
        [
            piece(7, "op", "aten::mm", 5, 1),
            piece(1, "op", "aten::mm", 2, 3),
            piece(2, "kernel", "ncclDevKernel", 9, 3),
            lost,
            *(process(pid, name) for pid, name in ((1, "rank 3 | a"), (2, "rank 3 | a"), (9, "rank 4"))),
            piece(8, "Trace", "PyTorch Profiler", 0, 500),
        ],
        ranks=[{"rank": 3, "lost": 2}, {"rank": 0, "lost": 0}, {"rank": 77, "lost": 1}],
    )
    three, five = found.ranks
    assert (three["rank"], five["rank"]) == (3, 5)
    assert (three["events"], three["calls_lost"], three["places_lost"]) == (3, 12, 2)
    assert (three["start"], three["end"], three["basis"]) == (2000, 12000, "gpu")
    assert (five["events"], five["places_lost"], five["basis"]) == (2, 0, "operators")


def steps_of(found: Stats) -> list[tuple[int, int, int]]:
    return sorted(((row["step"], row["start"], row["end"]) for row in found.steps), key=itemgetter(1))


def test_steps_are_disjoint(tmp_path: Path) -> None:
    found = stats_of(
        tmp_path,
        [
            piece(1, "user_annotation", f"ProfilerStep#{number}", at, dur)
            for number, at, dur in ((2, 30, 15), (1, 10, 20), (3, 40, 10), (3, 45, 10))
        ],
    )
    assert steps_of(found) == [(1, 10000, 30000), (2, 30000, 40000), (3, 40000, 55000)]


def test_steps_of_the_first_process_that_has_them(tmp_path: Path) -> None:
    """Two files of a rank: a recording, and another program's trace with other numbers."""
    other = [process(2, "rank 5"), piece(2, "user_annotation", "ProfilerStep#7", 10, 30)]
    found = stats_of(tmp_path, other, [piece(1, "op", "aten::mm", 2, 3), piece(2, "step", "step 5", 10, 20)])
    assert steps_of(found) == [(5, 10000, 30000)]
    assert found.ranks[0]["events"] == 3 and found.ranks[0]["doubts"] == []


def test_steps_of_several_processes_are_in_doubt(tmp_path: Path) -> None:
    found = stats_of(tmp_path, [piece(pid, "user_annotation", f"ProfilerStep#{pid}", 10, 30) for pid in (4, 2)])
    assert steps_of(found) == [(4, 10000, 40000)]
    assert found.ranks[0]["doubts"][0].startswith("2 processes have steps")


def test_steps_without_an_end(tmp_path: Path) -> None:
    steps = [(1, 10, 20), (1, 30, 0), (2, 40, 0)]
    events = [piece(1, "user_annotation", f"ProfilerStep#{number}", at, dur) for number, at, dur in steps]
    found = stats_of(tmp_path, [*events, piece(1, "cpu_op", "aten::mm", 50, 5)])
    assert steps_of(found) == [(1, 10000, 30000), (1, 30000, 40000), (2, 40000, 55000)]
    assert found.ranks[0]["open_steps"] == 2


def test_ranges_and_a_stray(tmp_path: Path) -> None:
    """Without ProfilerStep, and with a kernel far before the rest."""
    ranges = [piece(1, "user_annotation", f"batch {index + 4}", 100 + 10 * index, 9) for index in range(8)]
    found = stats_of(tmp_path, [piece(1, "kernel", "far", -9_000_000_000, 1), *ranges])
    (rank,), (file,) = found.ranks, found.files
    assert rank["start"] == 100_000 and rank["basis"] == "calls" and rank["steps_of"] == "batch"
    assert not rank["steps_end_there"] and [row["step"] for row in found.steps] == list(range(4, 12))
    assert (file["strays"], file["stray"], file["stray_ns"]) == (1, "far", -9_000_000_100_000)
    path = str(tmp_path / "r0.json")
    assert find_steps(path, 5, 7) == (110_000, 129_000) and find_steps(path, 12, 13) is None


def test_parts_of_steps_are_joined() -> None:
    """A copy on another thread belongs to its step; a later step with the number does not. On streams all do."""
    rows = np.array([(3, 30, 45), (1, 5, 22), (1, 0, 20), (2, 20, 30), (1, 40, 50)])
    closed = np.zeros(5, np.bool_)
    made = disjoint_steps(*rows.T, closed)
    assert made.tolist() == [(1, 0, 20, False), (2, 20, 30, False), (3, 30, 40, False), (1, 40, 50, False)]
    made = disjoint_steps(*rows[1:3].T, closed[:2], on_gpu=True)
    assert made.tolist() == [(1, 0, 22, False)]
    made = disjoint_steps(*rows[[1, 4]].T, closed[:2], on_gpu=True)
    assert made.tolist() == [(1, 5, 50, False)]


@pytest.mark.parametrize(
    ("names", "chosen", "last", "count"),
    [
        ("1", 1, (2, 210, 290), 3),
        ("12", 2, (12, 200, 300), 3),
        ("123", 3, (5, 270, 290), 6),
        ("1234", 4, (2, 199, 299), 3),
        ("5", None, None, 0),
    ],
)
def test_steps_from_ranges(names: str, chosen: int | None, last: tuple[int, int, int] | None, count: int) -> None:
    """Names: 1 an inner range, 2 a range around it, 3 and 4 optimizers, 5 ranges far apart."""
    times = {1: [(10, 90)], 2: [(0, 100)], 3: [(60, 70), (80, 90)], 4: [(95, 99)], 5: [(0, 50)]}
    groups = []
    for name in map(int, names):
        rows = [(i + 10 if name == 2 else -1, 100 * i + a, 100 * i + b) for i in range(3) for a, b in times[name]]
        groups.append(Ranges(name, name in (3, 4), rows))
    best, steps = steps_of_ranges(groups, -7)
    assert (best and best.name, len(steps)) == (chosen, count)
    if best is not None:
        assert steps[-1].tolist()[:3] == last
        assert steps[0]["start"] == (-7 if best.optimizer else best.rows[0][1])


def test_steps_of_several_optimizer_groups_are_joined() -> None:
    rows = [(-1, 100 * i + a, 100 * i + a + 5) for i in range(4) for a in (50, 58)]
    _, steps = steps_of_ranges([Ranges(1, True, rows)], 0)
    assert [(row["start"], row["end"]) for row in steps] == [(0, 63), (63, 163), (163, 263), (263, 363)]


def window_of(starts: list[int], lasts: int = 0) -> tuple[int, int] | None:
    groups = TimeGroups()
    for at in range(0, len(starts), 7):
        part = np.array(starts[at : at + 7], np.int64)
        groups.add(part, part + lasts, np.zeros(len(part), np.bool_))
    return groups.window()


@pytest.mark.parametrize(
    ("others", "early", "late"),
    [
        ([], 0, 0),
        ([1], 1, 0),
        ([6400, 6401], 1, 0),
        ([99999], 0, 1),
        ([1, 99999], 1, 1),
        ([9990], 1, 0),
        ([9999, 10001], 0, 0),
        ([10005], 0, 1),
        ([10000, 10000], 0, 0),
    ],
)
def test_stray_times(others: list[int], early: int, late: int) -> None:
    """Forty slices of 1 ms from second 10000 on, and up to two others."""
    usual = [10000 * SECOND + index * 1_000_000 for index in range(40)]
    window = window_of([*usual, *(SECOND * other for other in others)], 1_000_000)
    inside = [time for time in others if window is None or window[0] <= time * SECOND <= window[1]]
    assert (window is not None) == (early + late > 0)
    assert len(inside) == (0 if early + late else len(others))


def test_few_events_decide_nothing() -> None:
    assert TimeGroups().window() is None
    assert window_of([0, 5000 * SECOND, 5001 * SECOND]) is None
    assert window_of([*range(20), *range(5000 * SECOND, 5000 * SECOND + 80)]) is None


def test_more_pauses_than_groups_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stray_times, "_GROUPS", 64)
    starts = [5 * SECOND * index for index in range(1000)]
    random.Random(3).shuffle(starts)
    assert window_of(starts, 1) is None
    limits = np.iinfo(np.int64)
    assert window_of([*starts, limits.min, limits.max]) == (0, 4995 * SECOND)


def test_few_events_may_be_far() -> None:
    groups = TimeGroups()
    times = np.array([*range(40), 9 * SECOND, np.iinfo(np.int64).max])
    groups.add(times, times, times < 0)
    assert groups.few(times, times).tolist() == [False] * 40 + [True] * 2
    assert groups.few(times[:0], times[:0]).tolist() == []


@pytest.mark.parametrize(
    ("seconds", "count", "device", "found"),
    [
        (3600, 1, True, True),
        (3600, 1, False, True),
        (20, 1, True, True),
        (20, 1, False, False),
        (5, 1, True, False),
        (3600, 5, True, True),
        (3600, 40, True, False),
        (3600, 9, True, False),
        (1 << 40, 1, False, True),
    ],
)
def test_slices_that_last_beyond_others(seconds: int, count: int, device: bool, found: bool) -> None:
    """Forty slices of 1 ms, and others that begin among them."""
    groups = TimeGroups()
    usual, others = np.arange(40) * 1_000_000, np.arange(count)
    last = others + min(seconds * SECOND, np.iinfo(np.int64).max - count)
    groups.add(others[::2], last[::2], np.full(len(others[::2]), device))
    groups.add(usual, usual + 1_000_000, usual < 0)
    groups.add(others[1::2], last[1::2], np.full(len(others[1::2]), device))
    assert groups.few(others, last).all()
    assert groups.window() == ((0, 40_000_000) if found else None)
