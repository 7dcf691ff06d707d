"""The end of ``fastdispatch run``: one verdict of all ranks, once; exceptions; signals of a launched command."""

import os
import signal
import sys
import time
from pathlib import Path

import pytest

import fastdispatch
from tests import commands, processes, schemas
from tests.unit.record.test_launchers import in_path

#: Ranks end in the order of their numbers, or rank 1 fails first. Each waits for the start of the others.
PROGRAM = """
import os, sys, time
import fastdispatch

rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])

def wait_for(*names):
    while not all(os.path.exists(name) for name in names):
        time.sleep(0.005)

def step(graph):
    time.sleep(0.002)
    graph.step()

graph = fastdispatch.CallGraph()
graph.start()
open(f"started{rank}", "w").close()
wait_for(*(f"started{each}" for each in range(ranks)))
for _ in range(6):
    step(graph)
if "fail" in sys.argv and rank == 1 or "all" in sys.argv:
    raise ValueError("a private text")
if "exit" in sys.argv and rank == 1:
    sys.exit(3)
first = 1 if len(sys.argv) > 1 else 0
if rank != first:
    wait_for("go")
"""


RUN = (sys.executable, "-m", "fastdispatch", "run")


def ranks_of(folder: Path, *words: str, count: int = 3) -> list[str]:
    """Run the program under ``fastdispatch run`` on ranks and return what each prints; rank 0 or 1 ends first."""
    (folder / "program.py").write_text(PROGRAM)
    run, shared = (*RUN, "program.py", *words), {"WORLD_SIZE": str(count), "FASTDISPATCH_RUN_ID": "x"}
    started = [processes.popen(*run, folder=folder, RANK=str(rank), **shared) for rank in range(count)]
    first = 1 if words else 0
    printed = {first: started[first].communicate(timeout=60)[1]}
    (folder / "go").touch()
    printed |= {rank: started[rank].communicate(timeout=60)[1] for rank in range(count) if rank != first}
    return [printed[rank] for rank in range(count)]


def test_the_last_rank_prints_the_verdict_of_all(tmp_path: Path) -> None:
    printed = ranks_of(tmp_path)
    assert printed[0] == ""
    (verdict,) = filter(None, printed)
    assert "6 steps, ranks 0-2 of 3: " in verdict
    assert "fastdispatch-out (" in verdict and "Next: fastdispatch report " in verdict
    assert verdict.count("a step takes ") == 1 and "ranks 0-2)" in verdict


@pytest.mark.parametrize(("how", "name"), [("fail", "ValueError"), ("exit", "SystemExit(3)")])
def test_an_exception_is_named_at_once_and_in_reports(how: str, name: str, tmp_path: Path) -> None:
    printed = ranks_of(tmp_path, how)
    assert f"fastdispatch: rank 1 ended with {name}\n" in printed[1]
    assert printed[1].count("a step takes ") == 1
    assert printed[0] == printed[2] == ""
    document = commands.document("report", tmp_path / "fastdispatch-out")
    schemas.valid(document, "report")
    assert [rank["exception"] for rank in document["ranks"]] == [None, name, None]
    text = commands.out("report", tmp_path / "fastdispatch-out")
    assert f"stopped: rank 0, 2, ended with {name}: rank 1; program.py" in text.splitlines()[0]
    recording = (tmp_path / "fastdispatch-out" / "rank00001.fd").read_bytes()
    assert b"a private text" not in recording
    commands.out("anonymize", tmp_path / "fastdispatch-out", "-o", tmp_path / "shared.json")
    assert name not in (tmp_path / "shared.json").read_text()


def test_ranks_that_all_fail_are_named_once(tmp_path: Path) -> None:
    printed = "".join(ranks_of(tmp_path, "all"))
    lines = [line for line in printed.splitlines() if line.startswith("fastdispatch: ")]
    assert len([line for line in lines if "ended with ValueError" in line]) == 1
    assert len([line for line in lines if "a step takes " in line]) == 1


def test_a_rank_that_was_killed_does_not_hide_the_verdict(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM.replace("first = ", "if rank == 1: os.kill(os.getpid(), 9)\nfirst = "))
    command = "for RANK in 0 1; do export RANK; $PYTHON program.py & done; touch go; wait"
    done = processes.fastdispatch(
        "run", "sh", "-c", command, folder=tmp_path, PYTHON=sys.executable, WORLD_SIZE="2", FASTDISPATCH_RUN_ID="x",
        PYTHONPATH=in_path(tmp_path),
    )  # fmt: skip
    assert done.returncode == 0
    assert done.stderr.count("ranks 0-1 of 2") == 1 and done.stderr.count("a step takes ") == 1
    states = {rank["rank"]: rank["state"] for rank in fastdispatch.load(tmp_path / "fastdispatch-out").ranks}
    assert states == {0: "stopped", 1: "killed"}


def test_a_command_without_recordings_has_no_verdict_of_an_older_run(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    processes.successful("run", "program.py", folder=tmp_path, RANK="0", WORLD_SIZE="1")
    done = processes.fastdispatch("run", "true", folder=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (0, 1)


def test_the_signal_that_ended_a_command(tmp_path: Path) -> None:
    done = processes.fastdispatch("run", "-q", "sh", "-c", "kill -TERM $$", folder=tmp_path)
    assert done.returncode == -signal.SIGTERM


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGUSR1])
def test_signals_are_passed_on(number: signal.Signals, tmp_path: Path) -> None:
    trap = f"trap 'echo trapped; exit 5' {number.name[3:]}; touch ready; while :; do sleep 0.01; done"
    process = processes.popen(*RUN, "-q", "sh", "-c", trap, folder=tmp_path)
    while not (tmp_path / "ready").exists():
        time.sleep(0.01)
    process.send_signal(number)
    assert process.communicate(timeout=60)[0] == "trapped\n"
    assert process.returncode == 5


def test_a_command_ends_with_its_parent(tmp_path: Path) -> None:
    process = processes.popen(*RUN, "-q", "sh", "-c", "echo $$; exec sleep 600", folder=tmp_path)
    assert process.stdout is not None
    child = int(process.stdout.readline())
    process.kill()
    process.stdout.read()  # until the child has closed it
    process.wait()
    with pytest.raises(ProcessLookupError):
        while True:  # until init has reaped it
            os.kill(child, 0)
            if "Z" in Path(f"/proc/{child}/stat").read_text().rpartition(")")[2][:3]:
                raise ProcessLookupError
