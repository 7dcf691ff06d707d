"""The runner of CPython's tests: outcomes of processes, and the list of known differences."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cpython.__main__ import modules
from tests.cpython.comparing import HEADING, Known, compare, known_differences
from tests.cpython.running import PROCESS, Result, Setting, ended, read

RECORDED = Setting("frame", "recorded")


def result(status: str = "exit status 0", **outcomes: str) -> Result:
    tests = {f"test_x.{name}": outcome for name, outcome in outcomes.items()}
    return Result(tests | {PROCESS: status}, recorder=True, stats={"contexts": 1000})


def differences(plain: Result, recorded: Result) -> list[tuple[str, str, str]]:
    found = compare("test_x", "3.12.1", RECORDED, plain, recorded)
    return [(one.test, one.plain, one.recorded) for one in found]


def test_equal_outcomes_do_not_differ() -> None:
    plain = result("exit status 1", a="ok", b="failed", c="skipped")
    assert differences(plain, result("exit status 1", a="ok", b="failed", c="skipped")) == []


def test_every_test_is_compared_and_the_exit_status_that_follows_is_not() -> None:
    recorded = result("exit status 1", a="ok", b="failed")
    assert differences(result(a="ok", b="ok", c="ok"), recorded) == [
        ("test_x.b", "ok", "failed"),
        ("test_x.c", "ok", "absent"),
    ]


def test_an_exit_status_that_no_test_explains_is_a_difference() -> None:
    assert differences(result(a="ok"), result("exit status 5", a="ok")) == [
        ("test_x (process)", "ended", "exit status 5")
    ]


def test_a_killed_process_counts_once_with_its_test() -> None:
    recorded = result("killed by SIGSEGV", a="ok", b="not finished")
    assert differences(result(a="ok", b="ok", c="ok", d="ok"), recorded) == [
        ("test_x (process)", "ended", "killed by SIGSEGV"),
        ("test_x.b", "ok", "not finished"),
    ]


@pytest.mark.parametrize(
    ("recorder", "contexts", "state"),
    ((False, 1000, "not there"), (True, 1, "frame paused"), (True, 1000, "frame recorded")),
)
def test_a_run_without_the_requested_recording_is_a_difference(recorder: bool, contexts: int, state: str) -> None:
    recorded = Result({PROCESS: "exit status 0"}, recorder=recorder, stats={"contexts": contexts})
    found = differences(result(), recorded)
    assert found == ([] if state == str(RECORDED) else [("test_x (recorder)", "frame recorded", state)])


@pytest.mark.parametrize(
    ("program", "limit", "status"),
    (
        ("raise SystemExit(3)", 30.0, "exit status 3"),
        ("import os; os.abort()", 30.0, "killed by SIGABRT"),
        ("import signal, time; signal.signal(signal.SIGABRT, signal.SIG_IGN); time.sleep(600)", 0.5, "timed out"),
    ),
)
def test_how_a_process_ended(program: str, limit: float, status: str) -> None:
    process = subprocess.Popen([sys.executable, "-c", program], start_new_session=True)
    assert ended(process, limit, grace=0.5) == status


def test_the_worst_outcome_of_a_test_counts(tmp_path: Path) -> None:
    lines = [
        {"recorder": True},
        {"test": "test.test_x.a", "outcome": "not finished"},
        {"test": "test.test_x.a", "outcome": "failed", "why": "of a subtest"},
        {"test": "test.test_x.a", "outcome": "ok"},
        {"test": "test.test_x.a", "outcome": "not finished"},
        {"test": "test.test_x.b", "outcome": "not finished"},
        {"test": "test.test_x.b", "outcome": "ok"},
        {"stats": {"contexts": 7}},
    ]
    (tmp_path / "lines").write_text("\n".join(map(json.dumps, lines)))
    found = read(tmp_path / "lines")
    assert found.outcomes == {"test_x.a": "failed", "test_x.a #2": "not finished", "test_x.b": "ok"}
    assert found.reasons["test_x.a"] == "of a subtest"
    assert (found.recorder, found.stats) == (True, {"contexts": 7})


def test_rows_of_the_document(tmp_path: Path) -> None:
    document = tmp_path / "reliability.md"
    rows = ["| `test_x.*.f`, `test_y.g` | 3.12, 3.13 | frame paused | because |", "| `test_z.*` | all | all | so |"]
    document.write_text(
        "\n".join(["# Reliability", "", HEADING, "|---|---|---|---|", *rows, "", "| not | a | row | ."])
    )
    known = known_differences(document)
    assert [row.test for row in known] == ["test_x.*.f", "test_y.g", "test_z.*"]
    paused = Setting("frame", "paused")
    assert known[0].covers("test_x", "3.12.1", paused)
    assert not known[0].covers("test_x", "3.11.7", paused)
    assert not known[0].covers("test_x", "3.12.1", RECORDED)
    assert not known[0].covers("test_xy", "3.12.1", paused)
    assert known[2].covers("test_z", "3.11.7", RECORDED)
    found = compare("test_x", "3.12.1", paused, result(), result(**{"A.f": "ok", "A.g": "ok"}))
    assert [one.test for one in found if known[0].explains(one)] == ["test_x.A.f"]


def test_the_document_explains_only_existing_tests() -> None:
    listed = modules(short=False)
    assert len(listed) == len(set(listed))
    assert set(modules(short=True)) < set(listed)
    settings = [Setting(calls, state) for calls in ("frame", "monitor") for state in ("recorded", "paused")]

    def is_run(row: Known) -> bool:
        return any(
            row.covers(module, version, setting)
            for module in listed
            for version in ("3.11", "3.12", "3.13", "3.14", "3.15")
            for setting in settings
        )

    assert [row for row in known_differences() if not is_run(row) or not row.reason] == []
