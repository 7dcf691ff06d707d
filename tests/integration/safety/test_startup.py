"""Recordings started by the environment: the installed start-up hook."""

import subprocess
from pathlib import Path

import pytest

import fastdispatch
from tests import processes

PROGRAM = "def work():\n    return 1\nwork()\n"


def run(folder: Path, text: str, **changes: str) -> subprocess.CompletedProcess[str]:
    (folder / "program.py").write_text(text)
    return processes.python_program("program.py", folder=folder, **changes)


def test_the_environment_starts_a_recording_in_any_process(tmp_path: Path) -> None:
    result = run(tmp_path, PROGRAM, FASTDISPATCH="1", FASTDISPATCH_OUT=str(tmp_path / "out"))
    assert (result.stdout, result.stderr) == ("", "")
    trace = fastdispatch.load(tmp_path / "out")
    assert "work" in trace.nodes["name"]
    assert trace.ranks[0]["state"] == "stopped"


def test_options_of_the_environment(tmp_path: Path) -> None:
    options = {"FASTDISPATCH": "1", "FASTDISPATCH_OPTIONS": "timing=0,ops=off,max_mb=2"}
    run(tmp_path, PROGRAM, **options)
    trace = fastdispatch.load(tmp_path / "fastdispatch-out")
    assert trace.meta["options"]["timing"] is False or trace.meta["options"]["timing"] == 0
    assert trace.meta["options"]["max_mb"] == 2


def test_nothing_happens_without_it(tmp_path: Path) -> None:
    for value in ("", "0"):
        run(tmp_path, "import sys; assert 'fastdispatch' not in sys.modules", FASTDISPATCH=value)
    assert not (tmp_path / "fastdispatch-out").exists()


def test_a_mistake_is_one_warning_and_the_program_runs(tmp_path: Path) -> None:
    result = run(tmp_path, PROGRAM + "print('ran')", FASTDISPATCH="1", FASTDISPATCH_OPTIONS="opps=record")
    assert result.stdout == "ran\n"
    assert result.stderr.count("fastdispatch: not recording") == 1


SPAWN = """
import torch.multiprocessing as mp

def in_child(rank, port):
    import torch, torch.distributed as dist
    address = f"tcp://127.0.0.1:{port}"
    dist.init_process_group("gloo", init_method=address, rank=rank, world_size=2)
    dist.all_reduce(torch.ones(2))
    dist.destroy_process_group()

if __name__ == "__main__":
    import socket
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    mp.spawn(in_child, (port,), nprocs=2)
"""


@pytest.mark.torch
def test_run_records_the_ranks_that_multiprocessing_spawns(tmp_path: Path) -> None:
    """Ranks are known when the processes join the group: the files get their names at the end."""
    (tmp_path / "program.py").write_text(SPAWN)
    processes.successful("run", "--out", "out", "program.py", folder=tmp_path)
    traces = [fastdispatch.load(path) for path in sorted((tmp_path / "out").glob("*.fd"))]
    children = [trace for trace in traces if "in_child" in trace.nodes["name"]]
    assert len(traces) == 3
    assert len(children) == 2
    assert all("c10d::allreduce_" in trace.nodes["name"] for trace in children)
    run = fastdispatch.load(tmp_path / "out")
    assert [(rank["rank"], rank["world"]) for rank in run.ranks] == [(0, 2), (1, 2)]
    assert any("rank 0 is there already" in note for note in run.ranks[0]["notes"])  # of the spawning process


def test_a_command_does_not_replace_the_recording_that_it_reads(tmp_path: Path) -> None:
    run(tmp_path, PROGRAM, FASTDISPATCH="1")
    done = processes.fastdispatch("report", "fastdispatch-out", folder=tmp_path, FASTDISPATCH="1")
    assert "work" in done.stdout, done.stderr
    assert "work" in fastdispatch.load(tmp_path / "fastdispatch-out").nodes["name"]


START = """
import importlib, sys
module, _, name = open(sys.argv[1]).read().strip().partition(":")
getattr(importlib.import_module(module), name)()
assert ("fastdispatch" in sys.modules) == (sys.argv[2] == "1")
"""


@pytest.mark.parametrize("value", ["0", "1"])
def test_the_entry_point_of_the_start_file(value: str, tmp_path: Path) -> None:
    """As Python 3.15 calls it; a process that is not recorded does not import the package."""
    start = processes.ROOT / "python" / "fastdispatch-startup.start"
    package = str(Path(fastdispatch.__path__[0]).parent)
    variables = {"FASTDISPATCH": value, "PYTHONPATH": package}
    processes.python_program("-S", "-c", START, start, value, folder=tmp_path, **variables)
    assert (tmp_path / "fastdispatch-out").exists() == (value == "1")
