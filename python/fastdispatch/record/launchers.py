"""Launchers: the variables they give to a process, and their own processes, which are not recorded."""

import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class ProcessRank:
    """A process of a job: rank and world size, rank on its host (None: unknown), source of the rank."""

    rank: int
    world: int
    local_rank: int | None
    source: str


#: Variables for rank, world size and local rank. A launcher runs inside the job of a later one: torchrun inside mpirun,
#: mpirun inside a batch script of Slurm, all of them inside a pod of Kubernetes.
_VARIABLES = (
    ("RANK", ("WORLD_SIZE",), ("LOCAL_RANK",)),  # torchrun, DeepSpeed, Accelerate, Ray Train, PyTorchJob
    ("OMPI_COMM_WORLD_RANK", ("OMPI_COMM_WORLD_SIZE",), ("OMPI_COMM_WORLD_LOCAL_RANK",)),
    ("MV2_COMM_WORLD_RANK", ("MV2_COMM_WORLD_SIZE",), ("MV2_COMM_WORLD_LOCAL_RANK",)),
    ("PMI_RANK", ("PMI_SIZE",), ("MPI_LOCALRANKID", "PMI_LOCAL_RANK")),  # MPICH, Intel MPI
    ("PALS_RANKID", ("PALS_SIZE", "PMI_SIZE"), ("PALS_LOCAL_RANKID",)),
    ("SLURM_PROCID", ("SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"), ("SLURM_LOCALID",)),
    ("PMIX_RANK", (), ()),
    ("FLUX_TASK_RANK", ("FLUX_JOB_SIZE",), ("FLUX_TASK_LOCAL_ID",)),
)

_LOCAL = tuple(name for _, _, names in _VARIABLES for name in names)

#: The number of a host, and the number of processes on each, where a launcher gives only a local rank (Lightning).
_HOST = ("GROUP_RANK", "NODE_RANK")
_PER_HOST = ("LOCAL_WORLD_SIZE", "LOCAL_SIZE")

#: The number of a pod of an indexed job of Kubernetes (JobSet): the rank where one process runs in each pod.
_POD = "JOB_COMPLETION_INDEX"

_MODULES = re.compile(
    r"torch\.distributed\.(run|launch|elastic\..*)|deepspeed\.launcher\..*"
    r"|accelerate\.commands\.(launch|accelerate_cli)|lightning\.fabric(\.cli)?|torchx\..*|horovod\.runner.*|ray\.scripts\..*"
    r"|torch\._inductor\.compile_worker"
)
_COMMANDS = {"torchrun", "deepspeed", "ds", "accelerate", "accelerate-launch", "fabric", "torchx", "horovodrun", "ray"}
#: A process of multiprocessing that runs nothing of the program.
_SERVER = "multiprocessing.resource_tracker"
_FILES = re.compile(
    r"/deepspeed/launcher/\w+\.py$|/accelerate/commands/\w+\.py$|/torch/distributed/(run|launch)\.py$"
    r"|/torch/_inductor/compile_worker/\w+\.py$"
    r"|/ray/(dashboard|autoscaler|scripts)/.*\.py$|/ray/_private/(?!workers/default_worker\.py)[\w/]+\.py$"
)


def _integer(names: Sequence[str], environment: Mapping[str, str]) -> int | None:
    for name in names:
        value = environment.get(name, "")
        if value.isascii() and value.isdigit():
            return int(value)
    return None


def process_rank(environment: Mapping[str, str] = os.environ) -> ProcessRank:
    """Return the rank of this process from the variables of its launcher; rank 0 of 1 without one."""
    for rank_name, worlds, locals_ in _VARIABLES:
        rank = _integer([rank_name], environment)
        if rank is not None:
            world = _integer(worlds, environment) or 1
            # A program that sets RANK itself may leave the local rank to its launcher.
            local = _integer([*locals_, *_LOCAL], environment)
            return ProcessRank(rank, max(world, rank + 1), local, rank_name)
    world = _integer(["WORLD_SIZE"], environment) or 1
    local, host = _integer(["LOCAL_RANK"], environment), _integer(_HOST, environment) or 0
    per_host = _integer(_PER_HOST, environment)
    if local is not None and (host == 0 or per_host is not None):
        rank = host * (per_host or 0) + local
        return ProcessRank(rank, max(world, rank + 1), local, "LOCAL_RANK")
    rank = _integer([_POD], environment)
    if rank is not None:
        return ProcessRank(rank, max(world, rank + 1), local, _POD)
    return ProcessRank(0, max(world, 1), local, "")


def is_launcher(arguments: Sequence[str] | None = None) -> bool:
    """Return whether a command line of Python starts the processes of a job, or serves them, and is not one of them.

    ``arguments`` are those after the interpreter; by default those of this process.
    """
    rest = list(sys.orig_argv[1:] if arguments is None else arguments)
    while rest and rest[0].startswith("-"):
        option = rest.pop(0)
        if option == "-m":
            return bool(rest) and _MODULES.fullmatch(rest[0]) is not None
        if option.startswith("-m"):
            return _MODULES.fullmatch(option[2:]) is not None
        if option == "-c":
            return bool(rest) and _SERVER in rest[0]
        if option in ("-W", "-X"):
            del rest[:1]
    return bool(rest) and is_launcher_command(rest[0])


def is_launcher_command(command: str) -> bool:
    """Return whether a script or command is one of the launchers."""
    return os.path.basename(command) in _COMMANDS or _FILES.search(os.path.abspath(command)) is not None
