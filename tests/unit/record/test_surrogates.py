"""Names that UTF-8 cannot encode are recorded with a replacement and raise nothing."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import fastdispatch
from tests import commands, processes

#: A file name that was not UTF-8 on disk.
LATIN = b"latin\xe4"

KEYS = {"surrogates.py:[]:lone?", "tmp/lone?.py:[]:inside", "tmp/latin?.py:[]:inside", "lone?", "lone?2"}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("surrogates")
    processes.run("surrogates.py", folder / "run")
    return folder / "run"


def test_names_are_recorded_with_a_replacement(recorded: Path) -> None:
    trace = fastdispatch.load(recorded)
    found = {(kind, key) for kind, key in zip(trace.nodes["kind"], trace.nodes["key"], strict=True)}
    assert {key for _, key in found} >= KEYS
    assert {("range", "lone?"), ("job", "lone?"), ("thread", "lone?")} <= found
    assert trace.ranks[0]["threads"]["role"] == ["main", "lone?"]
    assert trace.jobs()["kind"] == ["lone?", "forward"]
    assert trace.ranks[0]["meta"]["pipeline"]["rules"]["missing"] == ["lone?"]


@pytest.mark.torch
def test_modules_and_execution_traces(tmp_path: Path) -> None:
    processes.run_warm("surrogates.py", tmp_path / "run", "torch")
    trace = fastdispatch.load(tmp_path / "run-torch")
    found = set(zip(trace.modules["path"], trace.modules["class"], strict=True))
    assert found == {
        ("", "Net"),
        ("lone?", "ReLU"),
        ("lone?", "Block"),
        ("lone?.inner", "Linear"),
        ("rest.lone?2.0", "Block"),
        ("rest.lone?2.0.inner", "Linear"),
    }


COMMANDS = ("report", "report --json", "html -o x.html", "export folded -o x", "merge -o x.json")


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_accept_the_recording(
    command: str, recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    name, *options = command.split()
    words = [name, *options[:1], recorded, *options[1:]] if name == "export" else [name, recorded, *options]
    assert commands.error(*words, status=0) == ""
    if name == "merge":
        assert fastdispatch.load(tmp_path / "x.json").nodes["key"] == fastdispatch.load(recorded).nodes["key"]


def test_folders_and_options_without_utf_8(tmp_path: Path) -> None:
    """The program, its folder, its arguments and the run directory."""
    folder = os.path.join(os.fsencode(tmp_path), LATIN)
    os.mkdir(folder)
    with open(os.path.join(folder, LATIN + b".py"), "w") as file:
        file.write("def work(): pass\nwork()\n")
    command = [sys.executable, b"-m", b"fastdispatch", b"run", b"-o", LATIN, b"--", LATIN + b".py", LATIN]
    done = subprocess.run(command, env=processes.environment(), cwd=folder, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    trace = fastdispatch.load(os.path.join(os.fsdecode(folder), os.fsdecode(LATIN)))
    assert "latin?.py:[]:work" in trace.nodes["key"]


@pytest.mark.parametrize("out", ["lone\ud800", "zero\0"])
def test_a_run_directory_that_cannot_exist(out: str, tmp_path: Path) -> None:
    graph = fastdispatch.CallGraph(tmp_path / out)
    with pytest.raises(fastdispatch.Error, match="cannot"):
        graph.start()
    with (
        pytest.warns(RuntimeWarning, match="recording in memory"),
        fastdispatch.CallGraph(tmp_path / out, best_effort=True) as kept,
    ):
        pass
    assert kept.path is not None
    shutil.rmtree(Path(kept.path).parent)


def test_globs() -> None:
    with fastdispatch.CallGraph(None, gpu=fastdispatch.Gpu(contexts="*lone\ud800")):
        pass
