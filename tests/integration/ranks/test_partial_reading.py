"""Open calls, totals and stacks, read without the other parts of recordings, are those of whole recordings."""

import shutil
import signal
from dataclasses import replace
from pathlib import Path

import pytest

import fastdispatch
from fastdispatch import _core
from fastdispatch.read import live
from fastdispatch.read.open_inputs import read_inputs
from fastdispatch.read.trace import Trace
from tests import many_ranks, processes, programs

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
    whole = read_inputs([recording])
    assert stacks(read_inputs([recording], only="open_calls")) == stacks(whole)


def test_the_killed_process_has_open_calls(killed: Path) -> None:
    core = read_inputs([killed], only="open_calls")
    calls = {thread: calls for _, thread, calls, _, _ in stacks(core)}
    assert [call.rpartition(":")[2] for call in calls["main"]].count("nested") == 6
    assert any(":wait" in call for thread, found in calls.items() if thread != "main" for call in found)
    keys = core.columns("nodes")["key"]
    assert not any(key.endswith(":work") for key in keys), "a call that has ended"


def test_totals(recording: Path) -> None:
    whole, totals = read_inputs([recording]), read_inputs([recording], only="totals")
    assert totals.table("node") == whole.table("node")
    names = ("node", "parent", "calls", "self", "total")
    assert [totals.contexts()[name] for name in names] == [whole.contexts()[name] for name in names]
    assert totals.columns("threads", 0) == whole.columns("threads", 0)
    assert totals.columns("notes", 0) == whole.columns("notes", 0)


def test_totals_of_many_ranks_are_sums(recording: Path, tmp_path: Path) -> None:
    """In the first rank, though two threads read many files."""
    paths = many_ranks.write(recording, tmp_path / "ranks", 40)
    whole, totals = read_inputs(paths), read_inputs(paths, only="totals")
    assert totals.table("node") == whole.table("node")
    assert [totals.columns("threads", at) for at in range(40)] == [whole.columns("threads", at) for at in range(40)]
    calls = sum(sum(whole.columns("figures", rank)["calls"]) for rank in range(40))
    with_figures = [sum(totals.columns("figures", rank)["calls"]) for rank in range(40)]
    assert sum(with_figures) == calls
    assert sum(count > 0 for count in with_figures) == (1 if calls else 0)


def test_an_unknown_part_is_rejected(killed: Path) -> None:
    with pytest.raises(_core.ArgumentError, match="only=steps is unknown"):
        read_inputs([killed], only="steps")  # type: ignore[arg-type]


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


def test_stacks_read_together_equal_those_of_each_recording(ranks: Path) -> None:
    found = live.position(str(ranks))[0]
    alone = [stack for path in sorted(ranks.glob("rank*.fd")) for stack in live.position(str(path))[0]]
    assert [stack.rank for stack in found if stack.thread == "main"] == list(range(RANKS))
    assert [replace(stack, ages=()) for stack in found] == [replace(stack, ages=()) for stack in alone]
    assert all("_nested" in " ".join(stack.calls) for stack in found if stack.thread == "main")


def test_recordings_that_do_not_fit_together_are_read_one_by_one(ranks: Path) -> None:
    (ranks / "rank00003.17.fd").write_bytes(many_ranks.scaled((ranks / "rank00003.fd").read_bytes(), 3, RANKS, 1.0))
    found = [stack.rank for stack in live.position(str(ranks))[0] if stack.thread == "main"]
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
