"""Ranks that stand still or ended early, from made-up states."""

from typing import Any

import pytest

from fastdispatch.detectors import hang, limits
from fastdispatch.detectors.hang import Standing
from fastdispatch.read.missing import ended_early
from fastdispatch.read.steps import PHASES


@pytest.mark.parametrize(("stepped", "decided"), [(2, True), (90, False), (0, True)])
def test_a_training_loop_that_polls_without_steps(stepped: int, decided: bool) -> None:
    """A loop of training that sleeps again and again goes on while its steps end."""

    class Steps:
        trace: Any = None

        def below(self, path: int) -> range:
            return range(path + 1, path + 2)

        def phase(self, path: int) -> int:
            return PHASES.index("forward")

    second = 1_000_000_000
    key = "train.py:[]:train"
    standing = Standing(
        0, True, [1], [key], 0, False, "sleep", [3], [100 * second], 0, False, 0.0, stepped=stepped * second
    )
    steps: Any = Steps()
    found = list(hang._alone(steps, [standing], limits.HANG_S * 1e9, []))
    reason = f"rank 0 has been in {key} for at least 90 s: it sleeps again and again"
    assert found == ([] if decided else [reason])


@pytest.mark.parametrize(("waits", "seconds"), [("socket", 8), ("poll", 8), ("child", 8_000), ("lock", 8_000)])
def test_another_program_may_be_slow(waits: str, seconds: int) -> None:
    """A lone process waits for the first message of a server, for a program that it has started, or for a file."""
    steps: Any = None
    quiet = seconds * 1_000_000_000
    source = "fcntl.flock(file, fcntl.LOCK_EX)" if waits == "lock" else ""
    standing = Standing(0, False, [1], ["train.py:[]:fetch"], quiet, True, waits, [3], [quiet], 0, False, 0.0, source)
    (found,) = hang._alone(steps, [standing], limits.HANG_S * 1e9, [])
    assert isinstance(found, str) and found.startswith("rank 0 has been in train.py:[]:fetch for 8")


@pytest.mark.parametrize(
    ("states", "sentences"),
    [
        (["stopped", "stopped"], []),
        (["killed", "stopped"], ["rank 0 was killed"]),
        (["killed", "killed", "KeyError"], ["ranks 0-1 were killed", "rank 2 ended with KeyError"]),
        (["KeyError", "running", "KeyError"], ["ranks 0, 2 ended with KeyError"]),
    ],
)
def test_ranks_that_ended_early(states: list[str], sentences: list[str]) -> None:
    ranks = [
        {"rank": rank, "state": state, "meta": {"exception": state} if state == "KeyError" else {}}
        for rank, state in enumerate(states)
    ]
    assert list(ended_early(ranks)) == sentences
