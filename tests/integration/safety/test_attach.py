"""``fastdispatch attach``: recordings of processes that were started without the recorder."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import fastdispatch
from tests import processes, traces
from tests.versions import interpreter

OLD = sys.version_info < (3, 14)
needs_remote_exec = pytest.mark.skipif(OLD, reason="sys.remote_exec is new in 3.14")
NOBODY = 65534


class Target:
    """A running tests/isolated/attachable.py."""

    def __init__(self, folder: Path, *arguments: str, python: str = sys.executable, **changes: str) -> None:
        self.folder = folder
        program = processes.ISOLATED / "attachable.py"
        self.process = processes.popen(python, program, folder / "orders", *arguments, folder=folder, **changes)

    @property
    def pid(self) -> int:
        return self.process.pid

    def work(self, count: int) -> None:
        """Let it call work() ``count`` times, and wait until it has."""
        (self.folder / "orders.part").write_text(str(count))
        (self.folder / "orders.part").rename(self.folder / "orders")
        while (self.folder / "orders").exists() and self.process.poll() is None:
            time.sleep(0.005)

    def end(self) -> tuple[str, str]:
        self.work(0)
        return self.process.communicate(timeout=60)


@pytest.fixture
def target(tmp_path: Path) -> Iterator[Target]:
    made = Target(tmp_path)
    yield made
    made.process.kill()
    made.process.communicate()


def refusal(*arguments: object, **options: object) -> str:
    """The one line of a command that fails with status 2."""
    command = [sys.executable, "-m", "fastdispatch", *map(str, arguments)]
    done = subprocess.run(  # type: ignore[call-overload]
        command, env=processes.environment(), text=True, capture_output=True, timeout=60, check=False, **options
    )
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    (line,) = done.stderr.splitlines()
    return str(line)


def calls(folder: Path, name: str) -> int:
    return traces.calls(fastdispatch.load(folder))[name]


@pytest.mark.skipif(not OLD, reason="sys.remote_exec exists here")
@pytest.mark.parametrize("options", [(), ("--stop",)])
def test_older_versions_are_refused(options: tuple[str, ...]) -> None:
    line = refusal("attach", os.getpid(), *options)
    assert "needs Python 3.14 or later" in line
    assert "fastdispatch run" in line


@needs_remote_exec
def test_a_running_process_is_recorded_from_now_on(target: Target, tmp_path: Path) -> None:
    target.work(10)
    done = processes.fastdispatch("attach", target.pid, "--out", "out", folder=tmp_path)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert str(tmp_path / "out" / "rank00000.fd") in done.stderr
    target.work(1000)
    done = processes.successful("attach", target.pid, "--stop", folder=tmp_path)
    assert "functions and operators" in done.stderr
    target.work(10)
    output, errors = target.end()
    assert (target.process.returncode, output, errors) == (0, "done True True\n", "")
    assert calls(tmp_path / "out", "work") == 1000
    (rank,) = fastdispatch.load(tmp_path / "out").ranks
    assert rank["state"] == "stopped"


@needs_remote_exec
def test_the_end_of_the_process_ends_the_recording(target: Target, tmp_path: Path) -> None:
    assert processes.fastdispatch("attach", target.pid, "--out", tmp_path / "out").returncode == 0
    assert "already recording" in refusal("attach", target.pid, "--out", tmp_path / "other")
    target.work(5)
    assert target.end()[1] == ""
    assert calls(tmp_path / "out", "work") == 5
    assert not (tmp_path / "other").exists()


@needs_remote_exec
def test_a_second_recording_of_the_same_process(target: Target, tmp_path: Path) -> None:
    for name, count in (("first", 7), ("second", 9)):
        assert processes.fastdispatch("attach", target.pid, "--out", tmp_path / name).returncode == 0
        target.work(count)
        assert processes.fastdispatch("attach", target.pid, "--stop").returncode == 0
    assert target.end()[1] == ""
    assert [calls(tmp_path / name, "work") for name in ("first", "second")] == [7, 9]


@needs_remote_exec
def test_faults_of_the_recording_are_reported_by_attach(target: Target, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert f"process {target.pid}: " in refusal("attach", target.pid, "--out", tmp_path / "file")
    assert "fastdispatch attach did not start a recording there" in refusal("attach", target.pid, "--stop")
    assert target.end() == ("done True True\n", "")


@needs_remote_exec
def test_a_process_that_runs_no_python_code_is_left_alone(tmp_path: Path) -> None:
    """The request is withdrawn: the process does not begin to record later."""
    target = Target(tmp_path, "sleep")
    assert target.process.stdout is not None
    assert target.process.stdout.readline() == "asleep\n"
    line = refusal("attach", target.pid, "--out", tmp_path / "out")
    assert "ran no Python code in its main thread for 10 s" in line
    os.kill(target.pid, signal.SIGUSR1)
    target.work(10)
    assert target.end() == ("done True False\n", "")
    assert not (tmp_path / "out").exists()


@needs_remote_exec
def test_processes_that_cannot_be_reached(target: Target, tmp_path: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    assert refusal("attach", ended.pid) == f"fastdispatch: no process {ended.pid} is running"
    with subprocess.Popen(["sleep", "60"]) as other:
        assert "it does not run Python" in refusal("attach", other.pid)
        other.kill()
    target.work(1)
    if os.geteuid() == 0:
        assert "no permission" in refusal("attach", target.pid, user=NOBODY, cwd="/")
    assert target.end() == ("done True False\n", "")


@needs_remote_exec
def test_a_process_without_remote_debugging(tmp_path: Path) -> None:
    target = Target(tmp_path, PYTHON_DISABLE_REMOTE_DEBUG="1")
    target.work(1)
    assert "remote debugging is disabled there (PYTHON_DISABLE_REMOTE_DEBUG" in refusal("attach", target.pid)
    assert target.end() == ("done True False\n", "")


@needs_remote_exec
def test_another_version_of_python(tmp_path: Path) -> None:
    own = ".".join(map(str, sys.version_info[:2]))
    others = [found for version in ("3.15", "3.14") if version != own and (found := interpreter(version))]
    if not others:
        pytest.skip("one version of Python with sys.remote_exec is installed here")
    target = Target(tmp_path, python=others[0])
    target.work(1)
    assert f"Python {own} process to a Python" in refusal("attach", target.pid)
    assert target.end() == ("done True False\n", "")


TRAINING = """
import os, time, torch
model = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), 0.01)
def train_step():
    optimizer.zero_grad()
    model(torch.ones(1, 2)).sum().backward()
    optimizer.step()
print("ready", flush=True)
while not os.path.exists("end"):
    train_step()
    time.sleep(0.01)
"""


@needs_remote_exec
@pytest.mark.torch
def test_some_steps_of_a_training(tmp_path: Path) -> None:
    with processes.popen(sys.executable, "-c", TRAINING, folder=tmp_path) as training:
        assert training.stdout is not None
        assert training.stdout.readline() == "ready\n"
        processes.successful("attach", training.pid, "--steps", 3, "--out", tmp_path / "out")
        deadline = time.monotonic() + 60
        while fastdispatch.load(tmp_path / "out").ranks[0]["state"] != "stopped" and time.monotonic() < deadline:
            time.sleep(0.05)
        (tmp_path / "end").touch()
        assert training.wait(timeout=60) == 0
    trace = fastdispatch.load(tmp_path / "out")
    assert trace.ranks[0]["state"] == "stopped"
    assert calls(tmp_path / "out", "train_step") in (3, 4)
    assert "aten::addmm" in trace.nodes["name"]
