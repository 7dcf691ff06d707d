"""Open calls and totals of a recording, read without its other parts, are those of the whole recording."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from fastdispatch import _core
from fastdispatch.read import live
from fastdispatch.read.trace import Trace
from tests import many_ranks, processes

#: Killed in the middle of nested calls, while a second thread waits.
PROGRAM = """
import os, signal, threading

def wait(entered, never):
    entered.set()
    never.wait()

def nested(depth):
    if depth:
        return nested(depth - 1)
    os.kill(os.getpid(), signal.SIGKILL)

def work(i):
    return sum(range(i))

entered, never = threading.Event(), threading.Event()
threading.Thread(target=wait, args=(entered, never), daemon=True).start()
entered.wait()
for i in range(50):
    work(i)
nested(5)
"""
DAMAGE = (0, 2, 9, 0.5, 0.8)


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("killed")
    (folder / "program.py").write_text(PROGRAM)
    result = processes.fastdispatch("run", "-q", "--ops", "off", "--out", "out", "program.py", folder=folder)
    assert result.returncode in (-signal.SIGKILL, 128 + signal.SIGKILL), result.stderr
    return folder / "out" / "rank00000.fd"


@pytest.fixture(params=DAMAGE)
def recording(request: pytest.FixtureRequest, killed: Path, tmp_path: Path) -> Path:
    """The whole recording, or one truncated to a number of pages or a share."""
    content = killed.read_bytes()
    size = len(content)
    if request.param:
        size = request.param * 4096 if isinstance(request.param, int) else int(request.param * size) // 4096 * 4096
    path = tmp_path / "some.fd"
    path.write_bytes(content[:size])
    return path


def stacks(core: _core.Trace) -> list[tuple[str, str, tuple[str, ...], tuple[str, ...], tuple[int, ...]]]:
    trace = Trace(core)
    found = live.stacks_of(trace, trace.ranks[0], live=False)
    return [(each.state, each.thread, each.calls, each.kinds, each.ages) for each in found]


def test_open_calls(recording: Path) -> None:
    whole = _core.Trace([recording])
    assert stacks(_core.Trace([recording], only="open_calls")) == stacks(whole)


def test_the_killed_process_has_open_calls(killed: Path) -> None:
    core = _core.Trace([killed], only="open_calls")
    calls = {thread: calls for _, thread, calls, _, _ in stacks(core)}
    assert [call.rpartition(":")[2] for call in calls["main"]].count("nested") == 6
    assert any(":wait" in call for thread, found in calls.items() if thread != "main" for call in found)
    keys = core.nodes()["key"]
    assert not any(key.endswith(":work") for key in keys), "a call that has ended"


def test_totals(recording: Path) -> None:
    whole, totals = _core.Trace([recording]), _core.Trace([recording], only="totals")
    assert totals.table("node") == whole.table("node")
    names = ("node", "parent", "calls", "self", "total")
    assert [totals.contexts()[name] for name in names] == [whole.contexts()[name] for name in names]
    assert totals.ranks()[0]["threads"] == whole.ranks()[0]["threads"]
    assert totals.ranks()[0]["notes"] == whole.ranks()[0]["notes"]


def test_totals_of_many_ranks_are_sums(recording: Path, tmp_path: Path) -> None:
    """In the first rank of each of the two threads that read many files."""
    paths = many_ranks.write(recording, tmp_path / "ranks", 40)
    whole, totals = _core.Trace(paths), _core.Trace(paths, only="totals")
    assert totals.table("node") == whole.table("node")
    assert [rank["threads"] for rank in totals.ranks()] == [rank["threads"] for rank in whole.ranks()]
    calls = sum(sum(whole.figures(rank)["calls"]) for rank in range(40))
    with_figures = [sum(totals.figures(rank)["calls"]) for rank in range(40)]
    assert sum(with_figures) == calls
    assert sum(count > 0 for count in with_figures) == (2 if calls else 0)


def test_unknown_parts_are_rejected(killed: Path) -> None:
    for part in ("steps", 1):
        with pytest.raises(_core.ArgumentError, match="'totals' or 'open_calls'"):
            _core.Trace([killed], only=part)  # type: ignore[arg-type]
