"""Run the commands of docs/guides/launchers.md: real launchers, stand-ins for Slurm and Kubernetes."""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

import fastdispatch
from tests import processes
from tests.conftest import EXAMPLES, ROOT

PAGE = ROOT / "docs" / "guides" / "launchers.md"
COMMANDS = {
    "python": "",
    "fastdispatch": "-m fastdispatch",
    "torchrun": "-m torch.distributed.run",
    "deepspeed": "-m deepspeed.launcher.runner",
    "accelerate": "-m accelerate.commands.accelerate_cli",
}
SRUN = """
[ "$1" = -n ] && tasks=$2 && shift 2
for task in $(seq 0 $((tasks - 1))); do
    SLURM_JOB_ID=7 SLURM_STEP_ID=0 SLURM_NTASKS=$tasks SLURM_PROCID=$task SLURM_LOCALID=$task "$@" &
done
wait
"""
LOSS = re.compile(r"rank (\d): loss (\S+)")


@dataclass(frozen=True)
class Site:
    """A folder with the example programs, and an environment with the launchers of this interpreter."""

    folder: Path
    environment: dict[str, str]

    def sh(self, text: str, **changes: str) -> str:
        command = ["bash", "-euo", "pipefail", "-c", text]
        environment = self.environment | changes
        done = subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, f"{text}\n{done.stdout}\n{done.stderr}"
        assert "not recording" not in done.stderr, done.stderr
        return done.stdout


@pytest.fixture
def site(tmp_path: Path) -> Site:
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, arguments in COMMANDS.items():
        (programs / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {arguments} "$@"\n')
    (programs / "srun").write_text(f"#!/bin/sh\n{SRUN}")
    for path in programs.iterdir():
        path.chmod(0o755)
    (programs / "sitecustomize.py").write_text((ROOT / "python" / "fastdispatch-startup.pth").read_text())
    work = tmp_path / "work"
    shutil.copytree(EXAMPLES / "launchers", work)
    port = str(processes.free_port())
    return Site(
        work,
        processes.environment(
            PATH=f"{programs}{os.pathsep}{os.environ['PATH']}",
            PYTHONPATH=os.pathsep.join([str(programs), os.environ.get("PYTHONPATH", "")]),
            HOST="127.0.0.1",
            PORT=port,
            MASTER_ADDR="127.0.0.1",
            MASTER_PORT=port,
            DS_ACCELERATOR="cpu",
            HF_HUB_OFFLINE="1",
            OMPI_ALLOW_RUN_AS_ROOT="1",
            OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
            OMPI_MCA_rmaps_base_oversubscribe="1",
        ),
    )


def blocks(launcher: str, kind: str = "sh") -> list[str]:
    section = PAGE.read_text().split(f"\n## {launcher}\n")[1].split("\n## ")[0]
    return re.findall(rf"^```{kind}\n(.*?)^```$", section, re.M | re.S)


def check(folder: Path, local_ranks: list[int | None]) -> None:
    """Two ranks of one run with five steps each; the files of a run are those in its manifest."""
    run = fastdispatch.load(folder)
    assert [(rank["rank"], rank["world"], rank["steps"]) for rank in run.ranks] == [(0, 2, 5), (1, 2, 5)]
    assert [rank["steps_source"] for rank in run.ranks] == ["optimizer"] * 2
    assert [rank["meta"]["local_rank"] for rank in run.ranks] == local_ranks
    assert {rank["meta"]["host"] for rank in run.ranks} == {os.uname().nodename}
    assert len({rank["meta"]["run_id"] for rank in run.ranks}) == 1


#: Section, local ranks, and whether a process that is not a rank is recorded, too.
ROWS = [
    ("torchrun", [0, 1], False),
    ("DeepSpeed", [0, 1], False),
    ("Accelerate", [0, 1], False),
    ("Lightning", [0, 1], False),
    ("torch.multiprocessing.spawn", [None, None], True),
    ("Slurm", [0, 1], False),
    ("MPI", [0, 1], False),
]


@pytest.mark.parametrize(("launcher", "local_ranks", "spawner"), ROWS, ids=[row[0] for row in ROWS])
def test_section(launcher: str, local_ranks: list[int | None], spawner: bool, site: Site) -> None:
    if launcher == "MPI" and shutil.which("mpirun") is None:
        pytest.skip("needs mpirun (Open MPI)")
    record, report, *others = blocks(launcher)[0].splitlines()
    losses = LOSS.findall(site.sh(record))
    assert sorted(rank for rank, _ in losses) == ["0", "1"]
    check(site.folder / "out", local_ranks)
    recordings = list((site.folder / "out").glob("*.fd"))
    assert len(recordings) == 2 + spawner, recordings
    assert "ranks 0-1 of 2, 5 steps" in site.sh("\n".join([report, *others]))
    plain = re.sub(r"fastdispatch run -o out( \w+\.py)?", lambda found: f"python{found[1]}" if found[1] else "", record)
    plain = re.sub(r"FASTDISPATCH\w*=\S+", "", plain)
    ports = {name: str(processes.free_port()) for name in ("MASTER_PORT", "PORT")}
    assert sorted(LOSS.findall(site.sh(plain, **ports))) == sorted(losses)
    assert len(list((site.folder / "out").glob("*.fd"))) == len(recordings)


def test_two_agents_of_torchrun(site: Site) -> None:
    site.sh(blocks("torchrun")[1])
    check(site.folder / "out2", [0, 0])


def test_the_variable_is_enough(site: Site) -> None:
    """Neither the spawner, nor multiprocessing's resource tracker, replaces the ranks in the manifest."""
    site.sh("python spawn.py", FASTDISPATCH="1", FASTDISPATCH_OUT="out")
    check(site.folder / "out", [None, None])
    assert len(list((site.folder / "out").glob("*.fd"))) == 3


POD = {"pytorchjob": {"PET_NNODES": "2", "PET_NPROC_PER_NODE": "1"}, "python": {"WORLD_SIZE": "2"}}


@pytest.mark.parametrize("kind", POD)
def test_kubernetes(kind: str, site: Site) -> None:
    """The container of the page in two pods, with the variables that the operator of PyTorchJob sets."""
    container = yaml.safe_load(blocks("Kubernetes", "yaml")[0])
    given = {each["name"]: each["value"] for each in container["env"]} | POD[kind]
    command = container["command"] if kind == "pytorchjob" else ["python", "train.py"]
    pods = []
    for number in "01":
        master = {"PET_MASTER_ADDR": "127.0.0.1", "PET_MASTER_PORT": site.environment["PORT"]}
        own = {"PET_NODE_RANK": number} | master if kind == "pytorchjob" else {"RANK": number}
        environment = site.environment | given | own
        pods.append(subprocess.Popen(command, cwd=site.folder, env=environment))
    assert [pod.wait(120) for pod in pods] == [0, 0]
    check(site.folder / "out", [0, 0] if kind == "pytorchjob" else [None, None])
    assert "ranks 0-1 of 2" in site.sh(blocks("Kubernetes")[0])


RAY = """
import os
import ray
import torch
from ray.train import RunConfig, ScalingConfig
from ray.train.torch import TorchConfig, TorchTrainer

FOLDER = os.getcwd()

def train_function():
    import fastdispatch
    torch.manual_seed(0)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(8, 8))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with fastdispatch.CallGraph(os.path.join(FOLDER, "out")):
        for _ in range(5):
            model(torch.ones(4, 8)).square().mean().backward()
            optimizer.step()

ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
TorchTrainer(
    train_function,
    torch_config=TorchConfig(backend="gloo"),
    scaling_config=ScalingConfig(num_workers=2),
    run_config=RunConfig(storage_path=FOLDER),
).fit()
"""


def test_ray_train(site: Site) -> None:
    """Two workers of a real Ray, which train in a thread. The start of Ray takes more than a minute."""
    (site.folder / "trainer.py").write_text(RAY)
    environment = site.environment | {"RAY_AUTH_MODE": "disabled"}
    subprocess.run([sys.executable, "trainer.py"], cwd=site.folder, env=environment, check=True, timeout=400)
    check(site.folder / "out", [0, 1])
    assert fastdispatch.load(site.folder / "out").main_role.startswith("TrainingThread")
    assert "ranks 0-1 of 2" in site.sh(blocks("Ray Train")[0])
