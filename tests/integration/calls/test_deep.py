"""Recursion that works without a recorder works under it, recorded or paused, and other threads are still recorded."""

import json
import sys
from typing import Any

import pytest

from tests import processes
from tests.traces import SOURCES

pytestmark = pytest.mark.parametrize("calls", SOURCES)


def deep(calls: str, case: str) -> dict[str, Any]:
    result: dict[str, Any] = json.loads(processes.run("deep.py", calls, case).stdout)
    return result


EXPECTED: dict[str, dict[str, Any]] = {
    "recorded": {"result": 60_000, "calls": 60_001, "counters": {"recursion_folded": 1}},
    "paused": {"result": 60_000},
    "edges_in_the_deep": {"result": 20_000, "calls": 5},
    "small_thread": {"leaf": 1000, "down": 1001, "inner": [1000], "counters": {"recursion_folded": 1}},
    "main_past_half": {"leaf": 1000, "counters": {"recursion_folded": 1}},
    "errors": {"raised": 3, "leaf": 1},
    "c_frames": {"result": 301},
    "limits_of_c_code": {"events": ["died", "next", *(["stopped"] if sys.version_info >= (3, 12) else [])]},
    "a_lowered_limit": {"result": 60_000, "calls": 60_001},
}
WITH_GREENLETS: dict[str, dict[str, Any]] = {
    "greenlets_of_a_thread": {"seen": [400, "inner", 5, "inner", 400]},
    "greenlets_of_the_main_thread": {"seen": [60_000, "inner", 5, "inner", 60_000]},
    "a_window_without_a_further_stack": {"leaf": 10},
}


@pytest.mark.parametrize("case", [*EXPECTED, *WITH_GREENLETS])
def test_case(calls: str, case: str) -> None:
    """Each case is a function of the program, with its description."""
    if case in WITH_GREENLETS:
        pytest.importorskip("greenlet")
    assert deep(calls, case) == (EXPECTED | WITH_GREENLETS)[case]


def test_calls_beyond_the_stack_of_entries_are_counted(calls: str) -> None:
    found = deep(calls, "beyond_the_stack_of_entries")
    assert (found["result"], found["calls"]) == (200_000, 200_001)
    assert found["counted"] > 100_000


def test_the_time_without_a_hook_is_counted(calls: str) -> None:
    pytest.importorskip("greenlet")
    found = deep(calls, "a_thread_without_a_further_stack")
    if calls == "monitor":
        assert found == {"leaf": 1001, "unhooked_ms": 0}
    else:
        assert found["leaf"] >= 1
        assert found["unhooked_ms"] >= 50
