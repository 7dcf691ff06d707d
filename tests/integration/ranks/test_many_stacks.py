"""Stacks of many ranks, which are read together, are those of each recording alone."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

import fastdispatch
from fastdispatch.read import live
from tests import many_ranks, programs

RANKS = 70  # more than are read together


@pytest.fixture
def ranks(tmp_path: Path) -> Path:
    """A folder with recordings of open calls."""
    folder, one = tmp_path / "ranks", tmp_path / "open.fd"
    with fastdispatch.CallGraph(tmp_path / "recorded", ops="off") as graph:
        programs.classes()
        graph.step()
        _nested(graph, one)
    many_ranks.write(one, folder, RANKS)
    return folder


def _nested(graph: fastdispatch.CallGraph, copy: Path) -> None:
    shutil.copy(Path(graph.path), copy)


def _alone(folder: Path) -> list[live.Stack]:
    return [stack for path in sorted(folder.glob("rank*.fd")) for stack in live.stacks(str(path))]


def test_stacks_read_together_equal_those_of_each_recording(ranks: Path) -> None:
    found = live.stacks(str(ranks))
    assert [stack.rank for stack in found if stack.thread == "main"] == list(range(RANKS))
    assert [replace(stack, ages=()) for stack in found] == [replace(stack, ages=()) for stack in _alone(ranks)]
    assert all("_nested" in " ".join(stack.calls) for stack in found if stack.thread == "main")


def test_recordings_that_do_not_fit_together_are_read_one_by_one(ranks: Path) -> None:
    (ranks / "rank00003.17.fd").write_bytes(many_ranks.scaled((ranks / "rank00003.fd").read_bytes(), 3, RANKS, 1.0))
    found = [stack.rank for stack in live.stacks(str(ranks)) if stack.thread == "main"]
    assert sorted(found) == sorted([*range(RANKS), 3])


def test_totals_read_together_are_the_sums_of_each_recording(ranks: Path) -> None:
    """Two threads read half of the recordings each."""
    found = live.sample(str(ranks))
    one = live.sample(str(ranks / "rank00000.fd")).figures
    assert [rank["rank"] for rank in found.ranks] == list(range(RANKS))
    assert {key: figures.calls for key, figures in found.figures.items()} == {
        key: RANKS * figures.calls for key, figures in one.items()
    }
    assert sum(figures.calls for figures in one.values()) > 10


def test_an_unreadable_recording_among_many_is_named(ranks: Path) -> None:
    (ranks / "rank00060.fd").write_bytes(b"fastdisp")
    with pytest.raises(fastdispatch.Error, match=r"rank00060\.fd: "):
        live.sample(str(ranks))
