"""Running programs of ``tests/isolated`` and the command line."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing import connection, get_context
from multiprocessing.context import ForkServerProcess
from pathlib import Path

from tests import warm

ROOT = Path(__file__).parent.parent
ISOLATED = ROOT / "tests" / "isolated"
#: Imports of most programs, and of those that compile.
TORCH, COMPILER = ("torch.distributed",), ("torch._dynamo", "fastdispatch")
#: How much longer programs may take than on a processor that is not emulated: set by tests/matrix.
SLOWNESS = int(os.environ.get("TESTS_SLOWNESS", "1"))


def environment(**changes: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("FASTDISPATCH", "RANK", "WORLD"))}
    return kept | {"OMP_NUM_THREADS": "1"} | changes


def free_port() -> int:
    """A port for the ranks of one group to meet at."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def meeting(ranks: int) -> dict[str, str]:
    """The variables that all ranks of a new group share."""
    return {"WORLD_SIZE": str(ranks), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}


def outputs(running: Sequence[warm.Program | subprocess.Popen[str]], seconds: int = 300) -> list[str]:
    """What programs print, all of which must succeed."""
    ends = [each.communicate(timeout=seconds * SLOWNESS) for each in running]
    for each, (_, errors) in zip(running, ends, strict=True):
        assert each.returncode == 0, errors
    return [output for output, _ in ends]


def popen(*command: object, folder: Path | None = None, **changes: str) -> subprocess.Popen[str]:
    """Start a command with its output in pipes."""
    changed, pipe = environment(**changes), subprocess.PIPE
    return subprocess.Popen([*map(str, command)], env=changed, cwd=folder, text=True, stdout=pipe, stderr=pipe)


def start(program: str, *arguments: object, **changes: str) -> subprocess.Popen[str]:
    """Start a program of tests/isolated with its output in pipes."""
    return popen(sys.executable, ISOLATED / program, *arguments, **changes)


def _rank(rank: int, function: Callable[..., None], arguments: tuple[object, ...]) -> None:
    function(rank, *arguments)
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(0)  # a gloo thread alive at the end of the interpreter can abort the process


def rank_process(rank: int, function: Callable[..., None], *arguments: object) -> ForkServerProcess:
    """Return the process of one rank, not started: a fork of a process that has imported PyTorch."""
    context = get_context("forkserver")
    context.set_forkserver_preload([*TORCH])
    return context.Process(target=_rank, args=(rank, function, arguments))


def spawn_ranks(function: Callable[..., None], *arguments: object, ranks: int = 2) -> None:
    """Call ``function(rank, *arguments)`` in a process for each rank, all of which must succeed."""
    running = [rank_process(rank, function, *arguments) for rank in range(ranks)]
    for process in running:
        process.start()
    while any(process.exitcode is None for process in running) and not any(process.exitcode for process in running):
        connection.wait([process.sentinel for process in running if process.exitcode is None])
    for process in running:
        process.kill()  # those that wait for a rank that failed
        process.join()
    assert [process.exitcode for process in running] == [0] * ranks


def wait_for(condition: Callable[[], object]) -> None:
    until = time.monotonic() + 120 * SLOWNESS
    while not condition():
        assert time.monotonic() < until, "it did not come about"
        time.sleep(0.05)


@contextmanager
def killed(program: str, *arguments: object, **changes: str) -> Iterator[int]:
    """The program runs and has printed that it is under way; it is killed at the end. Yields its process id."""
    process = start(program, *arguments, **changes)
    assert process.stdout is not None
    assert process.stdout.readline() == "under way\n"
    try:
        yield process.pid
    finally:
        process.kill()
        process.communicate()


def start_warm(imports: tuple[str, ...], program: str | Path, *arguments: object, **changes: str) -> warm.Program:
    """The same, or any file, in a process that has already imported these modules."""
    return warm.start(imports, [str(ISOLATED / program), *map(str, arguments)], environment(**changes))


def start_ranks(
    imports: tuple[str, ...], program: str | Path, ranks: int, *arguments: object, **changes: str
) -> list[warm.Program]:
    """The same on each rank of a new group, with the variables of torchrun."""
    shared = meeting(ranks) | changes
    of_ranks = [{"RANK": str(rank), "LOCAL_RANK": str(rank)} for rank in range(ranks)]
    return [start_warm(imports, program, *arguments, **of_rank, **shared) for of_rank in of_ranks]


def run_warm(program: str | Path, *arguments: object, imports: tuple[str, ...] = TORCH) -> str:
    """The output of a program of tests/isolated, which must succeed, in a process that has imported PyTorch."""
    return outputs([start_warm(imports, program, *arguments)])[0]


def run_in(folder: Path, *words: object, **changes: str) -> str:
    """The output of ``python`` or ``fastdispatch`` with its arguments, in a folder and a process like that."""
    return outputs([start_warm(TORCH, "in_folder.py", folder, *words, **changes)])[0]


def run(program: str, *arguments: object, **changes: str) -> subprocess.CompletedProcess[str]:
    """Run a program of tests/isolated, which must succeed."""
    process = start(program, *arguments, **changes)
    output, errors = process.communicate(timeout=120 * SLOWNESS)
    assert process.returncode == 0, errors
    return subprocess.CompletedProcess(process.args, process.returncode, output, errors)


def run_ranks(program: str, ranks: int, folder: Path) -> None:
    """Run a program of tests/isolated on all ranks of a new group, with the argument FOLDER."""
    outputs(start_ranks(TORCH, program, ranks, folder), 120)


def python(*arguments: object, folder: Path | None = None, **changes: str) -> subprocess.CompletedProcess[str]:
    """Run Python with these arguments and accept any exit status."""
    command = [sys.executable, *map(str, arguments)]
    changed = environment(**changes)
    return subprocess.run(
        command, env=changed, text=True, capture_output=True, timeout=300 * SLOWNESS, cwd=folder, check=False
    )


def python_program(*arguments: object, folder: Path | None = None, **changes: str) -> subprocess.CompletedProcess[str]:
    """The same for a program that must succeed."""
    done = python(*arguments, folder=folder, **changes)
    assert done.returncode == 0, done.stderr
    return done


def fastdispatch(*arguments: object, folder: Path | None = None, **changes: str) -> subprocess.CompletedProcess[str]:
    """Run the command line and accept any exit status."""
    return python("-m", "fastdispatch", *arguments, folder=folder, **changes)


def successful(*arguments: object, folder: Path | None = None, **changes: str) -> subprocess.CompletedProcess[str]:
    """The same for a command that must succeed."""
    done = fastdispatch(*arguments, folder=folder, **changes)
    assert done.returncode == 0, done.stderr
    return done


def refused(*arguments: object, folder: Path | None = None, **changes: str) -> str:
    """The one line of a command that refuses its input."""
    done = fastdispatch(*arguments, folder=folder, **changes)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
    return done.stderr
