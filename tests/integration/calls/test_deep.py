"""Recursion that works without a recorder works under it, recorded or paused, and other threads are still recorded."""

import json
import sys
from typing import Any

import pytest

from tests import processes

SOURCES = ["frame", "monitor"] if sys.version_info >= (3, 12) else ["frame"]
pytestmark = pytest.mark.parametrize("calls", SOURCES)


def deep(calls: str, case: str) -> dict[str, Any]:
    result: dict[str, Any] = json.loads(processes.run("deep.py", calls, case).stdout)
    return result


def test_every_call_of_a_deep_recursion_is_counted(calls: str) -> None:
    assert deep(calls, "recorded") == {"result": 60_000, "calls": 60_001, "counters": {"recursion_folded": 1}}


def test_recursion_while_a_schedule_waits(calls: str) -> None:
    assert deep(calls, "paused") == {"result": 60_000}


def test_windows_begin_and_end_deep_in_a_recursion(calls: str) -> None:
    assert deep(calls, "edges_in_the_deep") == {"result": 20_000, "calls": 5}


def test_calls_beyond_the_stack_of_entries_are_counted(calls: str) -> None:
    found = deep(calls, "beyond_the_stack_of_entries")
    assert (found["result"], found["calls"]) == (200_000, 200_001)
    assert found["counted"] > 100_000


def test_a_thread_with_a_small_stack(calls: str) -> None:
    found = deep(calls, "small_thread")
    assert found == {"leaf": 1000, "down": 1001, "inner": [1000], "counters": {"recursion_folded": 1}}


def test_a_thread_deep_in_a_recursion(calls: str) -> None:
    assert deep(calls, "main_past_half") == {"leaf": 1000, "counters": {"recursion_folded": 1}}


def test_recursion_errors_are_unchanged(calls: str) -> None:
    assert deep(calls, "errors") == {"raised": 3, "leaf": 1}


def test_recursion_through_c_code(calls: str) -> None:
    assert deep(calls, "c_frames") == {"result": 301}


def test_c_code_keeps_its_limits_on_further_stacks(calls: str) -> None:
    stopped = ["stopped"] if sys.version_info >= (3, 12) else []
    assert deep(calls, "limits_of_c_code") == {"events": ["died", "next", *stopped]}


def test_greenlets_of_a_thread_that_has_had_a_further_stack(calls: str) -> None:
    pytest.importorskip("greenlet")
    assert deep(calls, "greenlets_of_a_thread") == {"seen": [400, "inner", 5, "inner", 400]}
    assert deep(calls, "greenlets_of_the_main_thread") == {"seen": [60_000, "inner", 5, "inner", 60_000]}


def test_the_time_without_a_hook_is_counted(calls: str) -> None:
    pytest.importorskip("greenlet")
    found = deep(calls, "a_thread_without_a_further_stack")
    if calls == "monitor":
        assert found == {"leaf": 1001, "unhooked_ms": 0}
    else:
        assert found["leaf"] >= 1
        assert found["unhooked_ms"] >= 50


def test_windows_while_a_deep_call_has_no_hook(calls: str) -> None:
    pytest.importorskip("greenlet")
    assert deep(calls, "a_window_without_a_further_stack") == {"leaf": 10}


def test_recursion_after_the_limit_of_the_stack_was_lowered(calls: str) -> None:
    assert deep(calls, "a_lowered_limit") == {"result": 60_000, "calls": 60_001}
