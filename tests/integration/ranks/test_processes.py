"""Other processes of a rank: recordings of their own (docs/formats/run-directory.md)."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from multiprocessing import get_context
from pathlib import Path

import pytest

import fastdispatch
from fastdispatch.files import run_directory
from tests import commands, processes, programs, traces


def recordings(folder: Path) -> list[fastdispatch.Trace]:
    return [fastdispatch.load(folder / name) for name in run_directory.child_names(folder)]


def calls(trace: fastdispatch.Trace, name: str) -> int:
    """Return the calls of an operator, or of functions by the end of their key."""
    found = traces.calls(trace, "key")
    return sum(count for key, count in found.items() if key == name or key.endswith(f":{name}"))


def facts(trace: fastdispatch.Trace) -> dict[str, object]:
    return trace.meta["process"]


@pytest.fixture(scope="module")
def with_workers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording with forked workers."""
    folder = tmp_path_factory.mktemp("workers")
    processes.run_warm("workers.py", folder, "fork", 1, 1)
    return folder


@pytest.mark.torch
@pytest.mark.parametrize("how", ["fork", "spawn", "forkserver"])
def test_dataloader_workers_are_recorded(how: str, with_workers: Path, tmp_path: Path) -> None:
    if how != "fork":
        processes.run("workers.py", tmp_path, how, 1, 1)
    folder = with_workers if how == "fork" else tmp_path
    run = fastdispatch.load(folder)
    assert [rank["rank"] for rank in run.ranks] == [0] and run.ranks[0]["notes"] == []
    assert calls(run, "transform") == calls(run, "aten::cumsum") == 0
    found = recordings(folder)
    assert [facts(trace)["worker"] for trace in found] == [0, 1]
    for trace in found:
        fact = facts(trace)
        assert (fact["kind"], fact["workers"], fact["of"]) == ("worker", 2, run.ranks[0]["id"])
        assert str(fact["dataset"]).endswith(".Data") and str(fact["collate"]).endswith("default_collate")
        assert trace.ranks[0]["state"] == "stopped"
        assert calls(trace, "[Data]:__getitem__") == calls(trace, "aten::cumsum") == calls(trace, "transform") == 12
        assert calls(trace, "default_collate") == 3


@pytest.mark.torch
def test_reports_show_the_workers_with_their_rank(tmp_path: Path) -> None:
    processes.run_warm("workers.py", tmp_path, "fork", 2, 1)
    (group,) = commands.document("report", tmp_path)["processes"]
    expected = {"rank": 0, "kind": "worker", "name": "Data", "count": 4, "live": 0, "waits": 12, "starts": 2}
    assert {key: group[key] for key in expected} == expected
    figures = {kind: [(work["key"].rpartition(":")[2], work["calls"]) for work in group[kind]] for kind in WORK}
    assert figures == {
        "items": [("__getitem__", 48)],
        "collate": [("default_collate", 12)],
        "inside": [("transform", 48)],
    }
    assert 0 < group["inside"][0]["total"] <= group["items"][0]["total"] <= group["recorded"] - group["idle"]
    for command in (("report",), ("top", "--once", "--total", "--interval", "0.1")):
        text = " ".join(commands.out(command[0], tmp_path, *command[1:]).split())
        assert "4 DataLoader workers of rank 0 (Data): __getitem__ " in text
        assert "in 48 calls (of which transform " in text
        assert "for 12 batches of its workers, which it started 2 times in " in text
    assert [trace.ranks[0]["rank"] for trace in fastdispatch.load_children(tmp_path)] == [0] * 4
    assert len(fastdispatch.load_children(tmp_path / "rank00000.fd")) == 4


WORK = ("items", "collate", "inside")


def test_stacks_and_reports_name_running_children(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(RUNNING)
    processes.successful("run", "-q", "-o", "out", "program.py", folder=tmp_path)
    stacks = json.loads((tmp_path / "stacks").read_text())
    (child,) = [stack for group in stacks["groups"] for stack in group["stacks"] if stack["process"]]
    assert (child["rank"], child["state"]) == (0, "running")
    assert child["process"].startswith("fork-")
    assert child["stack"][-1]["call"] == "program.py:[]:waits"
    report = json.loads((tmp_path / "report").read_text())
    rows = [(row["kind"], row["name"], row["count"], row["live"]) for row in report["processes"]]
    assert rows == [("fork", "fork", 1, 1), ("subprocess", "program.py:[]:reads", 2, 0)]


RUNNING = """
import os, signal, subprocess, sys

def waits(): os.read(held[0], 1)
def reads():
    for command in ("stacks", "report"):
        with open(command, "w") as file:
            subprocess.run([sys.executable, "-m", "fastdispatch", command, "out", "--json"], stdout=file, check=True)

held, ready = os.pipe(), os.pipe()
child = os.fork()
if child == 0:
    os.write(ready[1], b".")
    waits()
    os._exit(0)
os.read(ready[0], 1)
reads()
os.write(held[1], b".")
os.wait()
"""


@pytest.mark.torch
def test_the_rank_counts_the_same_without_children(with_workers: Path, tmp_path: Path) -> None:
    def counts(folder: Path) -> dict[str, int]:
        table = fastdispatch.load(folder).table("node")
        rows = zip(table["where"], table["calls"], strict=True)
        # Others depend on the speed of the workers.
        return {key: n for key, n in rows if key.startswith(("tests/isolated", "aten::")) or "dataloader.py" in key}

    processes.run_warm("workers.py", tmp_path, "fork", 1, 0)
    assert run_directory.child_names(tmp_path) == []
    assert counts(with_workers) == counts(tmp_path)


@pytest.mark.torch
def test_the_latest_recordings_of_a_worker_are_kept(tmp_path: Path) -> None:
    processes.run_warm("workers.py", tmp_path, "fork", 6, 1)
    found = recordings(tmp_path)
    assert [facts(trace)["worker"] for trace in found] == [0] * 4 + [1] * 4
    assert len({facts(trace)["loader"] for trace in found}) >= 1
    assert all(calls(trace, "transform") == 12 for trace in found)
    processes.run_warm("workers.py", tmp_path, "fork", 1, 1)
    assert len(recordings(tmp_path)) == 2  # those of the replaced recording are gone
    run = fastdispatch.load(tmp_path)
    assert {facts(trace)["of"] for trace in recordings(tmp_path)} == {run.ranks[0]["id"]}


@pytest.mark.torch
def test_spawned_workers_of_run_are_not_ranks(tmp_path: Path) -> None:
    out = tmp_path / "out"
    program = processes.ISOLATED / "workers.py"
    processes.successful("run", "-q", "-o", out, program, tmp_path / "unused", "spawn", 1, 1)
    assert [name.partition("-")[0] for name in run_directory.child_names(out)] == [
        f"rank00000.fd.worker{n}" for n in range(2)
    ]
    assert [path.name for path in out.glob("*.fd")] == ["rank00000.fd"]
    assert [entry["file"] for entry in json.loads((out / "manifest.json").read_text())["ranks"]] == ["rank00000.fd"]
    assert [calls(trace, "transform") for trace in recordings(out)] == [12, 12]


@pytest.mark.parametrize("how", ["fork", "spawn", "forkserver"])
@pytest.mark.parametrize("end", ["ends", "killed"])
def test_children_under_run_belong_to_the_rank(how: str, end: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    processes.successful("run", "-q", "-o", out, processes.ISOLATED / "spawned_child.py", how, end)
    assert [path.name for path in out.glob("*.fd")] == ["rank00000.fd"]
    (child,) = fastdispatch.load_children(out)
    assert (calls(child, "inner"), child.ranks[0]["rank"]) == (10, 0)
    assert child.ranks[0]["state"] == ("stopped" if end == "ends" else "killed")
    run = fastdispatch.load(out)
    assert (calls(run, "inner"), run.ranks[0]["notes"]) == (0, [])
    text = commands.out("report", out)
    assert "1 other process of rank 0 (" in text and "skipped" not in text


class Forked:
    """Run functions in forked children and return their exit status."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, work: Callable[[], object]) -> int:
        child = os.fork()
        if child == 0:
            status = 1
            try:
                work()
                status = 0
            finally:
                os._exit(status)
        return os.waitpid(child, 0)[1]


@pytest.fixture
def forked(tmp_path: Path) -> Iterator[Forked]:
    with fastdispatch.CallGraph(tmp_path, ops="off"):
        yield Forked(tmp_path)


def test_a_forked_child_has_its_own_recording(forked: Forked) -> None:
    programs.leaf(1)
    assert forked(lambda: programs.leaf(1)) == 0
    (child,) = recordings(forked.folder)
    assert (facts(child)["kind"], facts(child)["parent"]) == ("fork", os.getpid())
    assert (calls(child, "leaf"), child.ranks[0]["state"]) == (1, "killed")  # os._exit
    assert calls(fastdispatch.load(forked.folder), "leaf") == 1


def test_children_of_children_belong_to_the_rank(forked: Forked) -> None:
    def nested() -> None:
        assert forked(lambda: programs.leaf(1)) == 0

    assert forked(nested) == 0
    found = recordings(forked.folder)
    assert len(found) == 2
    assert {facts(trace)["of"] for trace in found} == {fastdispatch.load(forked.folder).ranks[0]["id"]}
    assert sorted(calls(trace, "leaf") for trace in found) == [0, 1]


def test_a_child_of_a_thread_is_recorded(forked: Forked) -> None:
    threading.Thread(target=programs.leaf, args=(1,)).start()
    status: list[int] = []
    thread = threading.Thread(target=lambda: status.append(forked(lambda: programs.leaf(1))))
    thread.start()
    thread.join()
    assert status == [0]
    assert [calls(trace, "leaf") for trace in recordings(forked.folder)] == [1]


def test_a_killed_child_leaves_its_calls(forked: Forked) -> None:
    def die() -> None:
        programs.leaf(1)
        os.kill(os.getpid(), signal.SIGKILL)

    assert forked(die) == signal.SIGKILL
    (child,) = recordings(forked.folder)
    assert (calls(child, "leaf"), child.ranks[0]["state"]) == (1, "killed")


def test_a_child_that_records_itself_has_only_that_recording(forked: Forked) -> None:
    def record() -> None:
        with fastdispatch.CallGraph(forked.folder / "own", ops="off"):
            programs.leaf(1)

    assert forked(record) == 0
    assert run_directory.child_names(forked.folder) == []
    assert calls(fastdispatch.load(forked.folder / "own"), "leaf") == 1


def test_a_removed_directory_leaves_the_child_unrecorded(forked: Forked) -> None:
    def work() -> None:
        programs.leaf(1)
        assert fastdispatch.record.callgraph.current() is None

    moved = forked.folder.with_name("moved")
    forked.folder.rename(moved)
    try:
        assert forked(work) == 0
        assert not forked.folder.exists()
    finally:
        moved.rename(forked.folder)
    assert run_directory.child_names(forked.folder) == []


@pytest.mark.skipif(os.geteuid() == 0 and not shutil.which("setpriv"), reason="root can write everywhere")
def test_a_directory_that_cannot_be_written_leaves_the_child_unrecorded(tmp_path: Path) -> None:
    text = (
        "import os, sys, fastdispatch\n"
        "os.mkdir('out', 0o755)\n"
        "with fastdispatch.CallGraph('out', ops='off'):\n"
        "    os.chmod('out', 0o555)\n"
        "    if os.getuid() == 0: os.setegid(65534); os.seteuid(65534)\n"
        "    if os.fork() == 0:\n"
        "        print('child', flush=True)\n"
        "        os._exit(7)\n"
        "    assert os.waitstatus_to_exitcode(os.wait()[1]) == 7\n"
    )
    done = processes.python("-c", text, folder=tmp_path)
    assert done.stdout == "child\n" and "Traceback" not in done.stderr
    assert run_directory.child_names(tmp_path / "out") == []


def square(number: int) -> int:
    return number * number


@pytest.mark.parametrize("how", ["fork", "spawn"])
def test_processes_of_multiprocessing_have_the_name_of_their_target(how: str, tmp_path: Path) -> None:
    with fastdispatch.CallGraph(tmp_path, ops="off"):
        process = get_context(how).Process(target=square, args=(3,))
        process.start()
        process.join()
    assert process.exitcode == 0
    (child,) = recordings(tmp_path)
    assert run_directory.child_names(tmp_path)[0].startswith("rank00000.fd.square-")
    assert (facts(child)["kind"], facts(child)["name"]) == ("process", "square")
    assert (calls(child, "square"), child.ranks[0]["state"]) == (1, "stopped")


def test_a_pool_computes_the_same(tmp_path: Path) -> None:
    with fastdispatch.CallGraph(tmp_path, ops="off"), get_context("fork").Pool(2) as pool:
        assert pool.map(square, range(50)) == [n * n for n in range(50)]
        pool.close()
        pool.join()
    assert sum(calls(trace, "square") for trace in recordings(tmp_path)) == 50


def test_other_programs_are_not_recorded(tmp_path: Path) -> None:
    with fastdispatch.CallGraph(tmp_path, ops="off"):
        subprocess.run(["true"], check=True)
        subprocess.run(["true"], check=True, preexec_fn=os.getpid)
    assert run_directory.child_names(tmp_path) == []
    assert len(list(tmp_path.glob("*.fd"))) == 1


def test_a_recording_in_memory_has_no_children(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with fastdispatch.CallGraph(None, ops="off"):
        assert Forked(tmp_path)(lambda: programs.leaf(1)) == 0
    assert list(tmp_path.iterdir()) == []


def test_the_option_switches_them_off(tmp_path: Path) -> None:
    with fastdispatch.CallGraph(tmp_path, ops="off", children=False):
        assert Forked(tmp_path)(lambda: programs.leaf(1)) == 0
    assert run_directory.child_names(tmp_path) == []


SIGNALLED = """
import os, signal, fastdispatch
from fastdispatch.record import children

class Interrupted(Exception): pass
def interrupt(*_): raise Interrupted
def forked(plain=children.forked):
    os.kill(os.getpid(), signal.SIGUSR1)  # while the recorder works in the child
    return plain()

children.forked = forked
signal.signal(signal.SIGUSR1, interrupt)
with fastdispatch.CallGraph("out", ops="off"):
    try:
        child = os.fork()
        if child == 0:
            os._exit(4)
    except Interrupted:
        os._exit(3)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
"""


def test_a_signal_reaches_the_handler_of_a_child(tmp_path: Path) -> None:
    """The handler raises: an exception in a function that a fork calls would be lost."""
    processes.python_program("-c", SIGNALLED, folder=tmp_path)
    assert len(run_directory.child_names(tmp_path / "out")) == 1


def test_the_environment_of_the_program_stays(tmp_path: Path) -> None:
    print_environment = [sys.executable, "-c", "import os; print(sorted(k for k in os.environ if 'FASTD' in k))"]
    before = dict(os.environ)
    with fastdispatch.CallGraph(tmp_path, ops="off"):
        assert dict(os.environ) == before
        given = subprocess.run(print_environment, env=dict(os.environ), capture_output=True, text=True, check=True)
    after = subprocess.run(print_environment, capture_output=True, text=True, check=True)
    assert given.stdout == after.stdout
