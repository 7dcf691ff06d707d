"""Ranks from the variables of launchers, and processes of launchers, which are not recorded."""

import os
import sys
from pathlib import Path

import pytest

import fastdispatch
from fastdispatch.record.launchers import ProcessRank, is_launcher, process_rank
from tests import processes

RANKS = {
    "torchrun": ("RANK=5 WORLD_SIZE=8 LOCAL_RANK=1 GROUP_RANK=1 LOCAL_WORLD_SIZE=4", ProcessRank(5, 8, 1, "RANK")),
    "deepspeed": ("RANK=3 WORLD_SIZE=4 LOCAL_RANK=1 CROSS_RANK=1 LOCAL_SIZE=2", ProcessRank(3, 4, 1, "RANK")),
    "Open MPI": (
        "OMPI_COMM_WORLD_RANK=3 OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_LOCAL_RANK=1 PMIX_RANK=3",
        ProcessRank(3, 4, 1, "OMPI_COMM_WORLD_RANK"),
    ),
    "MPICH": ("PMI_RANK=2 PMI_SIZE=4 MPI_LOCALRANKID=0", ProcessRank(2, 4, 0, "PMI_RANK")),
    "srun": ("SLURM_PROCID=6 SLURM_NTASKS=8 SLURM_LOCALID=2", ProcessRank(6, 8, 2, "SLURM_PROCID")),
    "a step of a larger job of Slurm": (
        "SLURM_PROCID=1 SLURM_NTASKS=8 SLURM_STEP_NUM_TASKS=2",
        ProcessRank(1, 2, None, "SLURM_PROCID"),
    ),
    "mpirun in a batch script of Slurm": (
        "SLURM_PROCID=0 SLURM_NTASKS=8 OMPI_COMM_WORLD_RANK=3 OMPI_COMM_WORLD_SIZE=4",
        ProcessRank(3, 4, None, "OMPI_COMM_WORLD_RANK"),
    ),
    "a program under mpirun that sets RANK": (
        "RANK=1 WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_LOCAL_RANK=1",
        ProcessRank(1, 2, 1, "RANK"),
    ),
    "Lightning": ("WORLD_SIZE=2 NODE_RANK=0 LOCAL_RANK=1", ProcessRank(1, 2, 1, "LOCAL_RANK")),
    "second host": ("WORLD_SIZE=4 NODE_RANK=1 LOCAL_RANK=1 LOCAL_WORLD_SIZE=2", ProcessRank(3, 4, 1, "LOCAL_RANK")),
    "second host, unknown size": ("WORLD_SIZE=4 NODE_RANK=1 LOCAL_RANK=1", ProcessRank(0, 4, 1, "")),
    "indexed job": ("JOB_COMPLETION_INDEX=3", ProcessRank(3, 4, None, "JOB_COMPLETION_INDEX")),
    "none": ("", ProcessRank(0, 1, None, "")),
    "not numbers": ("RANK=-1 SLURM_PROCID=x WORLD_SIZE=\u0662", ProcessRank(0, 1, None, "")),
}


@pytest.mark.parametrize("launcher", RANKS)
def test_rank(launcher: str) -> None:
    variables, expected = RANKS[launcher]
    assert process_rank(dict(part.split("=") for part in variables.split())) == expected


@pytest.mark.parametrize(
    "line",
    [
        "/usr/bin/torchrun --standalone train.py",
        "-m torch.distributed.run train.py",
        "-u -X dev -m torch.distributed.launch train.py",
        "-mtorch.distributed.run train.py",
        "bin/deepspeed --num_gpus 2 train.py",
        "-u -m deepspeed.launcher.launch --world_info=x train.py",
        "bin/accelerate launch train.py",
        "lib/ray/dashboard/dashboard.py --host=127.0.0.1",
        "lib/ray/_private/log_monitor.py",
        "lib/torch/_inductor/compile_worker/__main__.py --workers=2",
    ],
)
def test_a_launcher(line: str) -> None:
    assert is_launcher(line.split())


@pytest.mark.parametrize(
    "line", ["train.py torchrun", "-m train", "-c pass torchrun", "-W ignore train.py", "", "ray/train.py"]
)
def test_a_program(line: str) -> None:
    assert not is_launcher(line.split())


def test_the_worker_of_ray_is_a_program_and_the_resource_tracker_is_not() -> None:
    assert not is_launcher(["lib/ray/_private/workers/default_worker.py"])
    assert is_launcher(["-c", "from multiprocessing.resource_tracker import main;main(5)"])


def in_path(folder: Path) -> str:
    (folder / "sitecustomize.py").write_text((processes.ROOT / "python" / "fastdispatch-startup.pth").read_text())
    return os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])


def test_run_executes_a_command_whose_processes_record(tmp_path: Path) -> None:
    """Exit status and output are those of the command; options reach the recordings."""
    program = "def work(): pass\ndef other(): pass\nwork(); other()"
    script = f"for RANK in 0 1; do export RANK; '{sys.executable}' -c '{program}'; done; echo done; exit 7"
    options = ["--keep", "*:work", "--keep", "!*:other", "--options=timing=0", "-o", "out"]
    (tmp_path / "bin").mkdir()
    done = processes.fastdispatch(
        "run", *options, "sh", "-c", script, folder=tmp_path, PYTHONPATH=in_path(tmp_path / "bin")
    )
    assert (done.returncode, done.stdout) == (7, "done\n")
    expected = "recording each Python process of sh.  Next: fastdispatch report out"
    assert done.stderr == f"fastdispatch: {expected}\n"
    run = [fastdispatch.load(path) for path in sorted((tmp_path / "out").glob("*.fd"))]
    assert [trace.ranks[0]["rank"] for trace in run] == [0, 1]
    for trace in run:
        assert "work" in trace.nodes["name"]
        assert "other" not in trace.nodes["name"]
        assert not trace.meta["options"]["timing"]


def test_an_interpreter_by_its_path_is_a_command(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    done = processes.fastdispatch(
        "run", "-o", "out", sys.executable, "-c", "print('ran')", folder=tmp_path, PYTHONPATH=in_path(tmp_path / "bin")
    )
    assert (done.returncode, done.stdout) == (0, "ran\n")
    assert len([*(tmp_path / "out").glob("*.fd")]) == 1


def test_run_checks_the_directory_before_a_command_starts(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    processes.refused("run", "-o", "file/out", "touch", "started", folder=tmp_path)
    assert not (tmp_path / "started").exists()
    done = processes.fastdispatch(
        "run", "-q", "--options=best_effort=1", "-o", "file/out", "touch", "started", folder=tmp_path
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "started").exists()


def test_a_launcher_without_permission_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "torchrun").write_text("garbage")
    (tmp_path / "torchrun").chmod(0o755)
    done = processes.fastdispatch("run", "-q", "./torchrun", folder=tmp_path)
    assert done.returncode == 2
    assert done.stderr == "fastdispatch: can't run './torchrun': Exec format error\n"


def test_a_launcher_is_not_recorded(tmp_path: Path) -> None:
    (tmp_path / "torchrun").write_text("print('ran')\n")
    done = processes.python("torchrun", folder=tmp_path, FASTDISPATCH="1", PYTHONPATH=in_path(tmp_path))
    assert (done.stdout, done.stderr) == ("ran\n", "")
    assert not (tmp_path / "fastdispatch-out").exists()
