"""Profile options of Megatron and DeepSpeed programs, and recorders of training loops without a framework."""

from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest

import fastdispatch
from fastdispatch.integrations.loop_recorder import LoopRecorder
from fastdispatch.integrations.profile_options import callgraph_arguments
from tests import traces


@pytest.mark.parametrize(
    ("options", "arguments"),
    [
        ({}, {}),
        ({"profile": True, "profile_step_start": None, "profile_ranks": None}, {}),
        ({"profile": False, "profile_step_start": 2}, {"ranks": []}),
        ({"profile_step_start": 2, "profile_step_end": 4}, {"steps": "2:4"}),
        ({"profile_step_start": 2}, {"steps": "2:"}),
        ({"profile_step_end": 4}, {"steps": "0:4"}),
        ({"profile_ranks": [0, 2]}, {"ranks": [0, 2]}),
        (Namespace(profile_step_end=1, profile_ranks=range(1)), {"steps": "0:1", "ranks": [0]}),
    ],
)
def test_arguments(options: object, arguments: dict[str, Any]) -> None:
    assert callgraph_arguments(options) == arguments
    fastdispatch.CallGraph(None, **arguments)


@pytest.mark.parametrize(
    "options",
    [{"profile_step_start": -1}, {"profile_step_end": "4"}, {"profile_ranks": 0}, {"profile_ranks": ["0"]}],
)
def test_other_values(options: dict[str, Any]) -> None:
    (name,) = options
    with pytest.raises(fastdispatch.Error, match=f"^{name}=.*: give a "):
        callgraph_arguments(options)


def test_only_these_steps_are_recorded(tmp_path: Path) -> None:
    """Steps 1 and 2 of 5."""
    loop = LoopRecorder(tmp_path, callgraph_arguments({"profile_step_start": 1, "profile_step_end": 3}))
    loop.begin()
    for _ in range(5):
        sorted([2, 1], key=lambda each: each)
        loop.step()
    loop.end()
    calls = traces.column(fastdispatch.load(tmp_path))
    (key,) = [where for where in calls if "test_profile_options.py" in where and where.endswith("<lambda>")]
    assert calls[key] == 2 * 2


def test_no_rank_is_recorded(tmp_path: Path) -> None:
    loop = LoopRecorder(tmp_path / "out", callgraph_arguments({"profile": False}))
    loop.begin()
    loop.step()
    loop.end()
    assert not (tmp_path / "out").exists()


def test_a_second_training_ends_the_first(tmp_path: Path) -> None:
    loop = LoopRecorder(tmp_path, {})
    loop.begin()
    first = loop.graph
    loop.begin()
    loop.step()
    loop.end()
    assert loop.graph is not first
    assert [rank["steps"] for rank in fastdispatch.load(tmp_path).ranks] == [1]


def test_invalid_options_fail_at_once() -> None:
    with pytest.raises(fastdispatch.Error, match="max_mb=0"):
        LoopRecorder(None, {"max_mb": 0})
