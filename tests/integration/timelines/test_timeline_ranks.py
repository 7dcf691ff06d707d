"""Four gloo ranks that train with DistributedDataParallel, in our own merged timeline, in the real trace processor."""

from __future__ import annotations

import itertools
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from tests import processes
from tests.consumers.perfetto import assert_clean, open_trace, query

pytestmark = pytest.mark.torch

Ranks = dict[int, dict[str, list[dict[str, Any]]]]  # rank -> name -> slices by time

RANKS, EPOCHS, STEPS = 4, 3, 2

SLICES = """
    select slice.name as name, slice.ts as begin, slice.ts + slice.dur as end, process.name as process,
    thread.name as thread
    from slice left join thread_track on slice.track_id = thread_track.id left join thread using (utid)
    left join process_track on slice.track_id = process_track.id
    join process on process.upid = coalesce(thread.upid, process_track.upid)
    where slice.name in ('gloo:all_reduce', 'c10d::allreduce_') or slice.name glob 'epoch *'
    order by slice.ts
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ranks") / "run"
    processes.run("recorded_ranks.py", folder, RANKS, EPOCHS, STEPS)
    return folder


@pytest.fixture(scope="module", params=["merged.pftrace", "merged.json"])
def ranks(request: pytest.FixtureRequest, run: Path) -> Ranks:
    """Of either form of the merge."""
    merged = run.with_name(request.param)
    done = processes.fastdispatch("timeline", "merge", run, "-o", merged)
    assert done.returncode == 0, done.stderr
    found: Ranks = defaultdict(lambda: defaultdict(list))
    with open_trace(merged) as processor:
        assert_clean(processor)
        for row in query(processor, SLICES):
            found[int(row["process"].split()[1])][row["name"]].append(row)
    assert sorted(found) == list(range(RANKS))
    return found


def test_every_rank_shows_its_collectives_under_their_epoch(ranks: Ranks) -> None:
    for rows in ranks.values():
        epochs = [row for epoch in range(EPOCHS) for row in rows[f"epoch {epoch}"]]
        assert len(epochs) == EPOCHS
        assert {row["thread"] for row in epochs} == {"main"}
        assert all(one["end"] <= two["begin"] for one, two in itertools.pairwise(epochs))
        for name in ("gloo:all_reduce", "c10d::allreduce_"):
            inside = [sum(e["begin"] < row["begin"] < e["end"] for row in rows[name]) for e in epochs]
            assert inside == [STEPS] * EPOCHS  # one bucket
            assert len(rows[name]) == STEPS * EPOCHS
        for call, run in zip(rows["c10d::allreduce_"], rows["gloo:all_reduce"], strict=True):
            assert call["begin"] < run["begin"] < run["end"]


def test_slices_of_one_collective_overlap_on_all_ranks(ranks: Ranks) -> None:
    for collective in zip(*(rows["gloo:all_reduce"] for rows in ranks.values()), strict=True):
        assert max(row["begin"] for row in collective) < min(row["end"] for row in collective)
