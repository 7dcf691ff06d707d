"""Run programs in forks of a process that has imported PyTorch: the import takes longer than most programs.

    test ── argv, environment, [stdout, stderr, status] ──> server   imports once, then forks
                                                              └─ keeper   sends the pid, waits, sends the exit status
                                                                   └─ program   ends as an interpreter does

Not for programs that test the start of the interpreter (FASTDISPATCH=1, options of Python).
"""

import contextlib
import functools
import importlib
import json
import os
import runpy
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

ENDED = struct.Struct("i")  # from waitpid


class Program:
    """The used part of ``subprocess.Popen``, for a process that is not a child."""

    def __init__(self, args: list[str], stdout: int, stderr: int, status: socket.socket) -> None:
        self.args = args
        self.stdout = os.fdopen(stdout, encoding="utf-8")
        self.stderr = os.fdopen(stderr, encoding="utf-8")
        self.returncode: int | None = None
        self._status = status
        (self.pid,) = ENDED.unpack(status.recv(ENDED.size))

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            if not select.select([self._status], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(self.args, timeout or 0)
            self.returncode = os.waitstatus_to_exitcode(*ENDED.unpack(self._status.recv(ENDED.size)))
            self._status.close()
        return self.returncode

    def poll(self) -> int | None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """Wait for the end of the program and return its output; kill it after ``timeout`` seconds."""
        with ThreadPoolExecutor(2) as readers, self.stdout, self.stderr:
            texts = [readers.submit(stream.read) for stream in (self.stdout, self.stderr)]
            try:
                self.wait(timeout)
            except subprocess.TimeoutExpired:
                self.kill()
                raise
            return texts[0].result(), texts[1].result()


@functools.cache
def server(imports: tuple[str, ...]) -> socket.socket:
    """The connection to the process that has imported these modules, which ends when the connection is closed."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    command = [sys.executable, __file__, str(theirs.fileno()), *imports]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "DS_ACCELERATOR": "cpu"}
    subprocess.Popen(command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, env=environment)
    theirs.close()
    return ours


def start(imports: tuple[str, ...], args: list[str], environment: dict[str, str]) -> Program:
    """Start ``args``, a Python file and its arguments, in a process that has imported ``imports``."""
    status, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    (stdout, output), (stderr, errors) = os.pipe(), os.pipe()
    handed = [output, errors, theirs.fileno()]
    socket.send_fds(server(imports), [json.dumps([args, environment]).encode()], handed)
    for end in (output, errors):
        os.close(end)
    theirs.close()
    return Program(args, stdout, stderr, status)


def keep(status: int) -> bool:
    """Fork the program and report its pid; returns True in the program only."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    pid = os.fork()
    if pid == 0:
        return True
    for stream in (1, 2):
        os.close(stream)
    os.write(status, ENDED.pack(pid))
    os.write(status, ENDED.pack(os.waitpid(pid, 0)[1]))
    os._exit(0)


def serve(requests: socket.socket) -> list[str] | None:
    """Serve requests. Returns the arguments in each program, and None in the server at the end."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # no zombies: keepers are not waited for
    while True:
        message, handed, _, _ = socket.recv_fds(requests, 1 << 20, 3)
        if not message:
            return None
        if os.fork() == 0:
            requests.close()
            os.dup2(handed[0], 1)
            os.dup2(handed[1], 2)
            os.close(handed[0])
            os.close(handed[1])
            if keep(handed[2]):
                os.close(handed[2])
                args, environment = json.loads(message)
                os.environ.clear()
                os.environ.update(environment)
                return args
        for end in handed:
            os.close(end)


def threads() -> int:
    """The number of threads of this process, with those of an emulator."""
    return len(os.listdir("/proc/self/task"))


def main() -> None:
    before = threads()
    for name in sys.argv[2:]:
        importlib.import_module(name)
    assert (threading.active_count(), threads()) == (1, before), "a thread does not survive a fork"
    args = serve(socket.socket(fileno=int(sys.argv[1])))
    if args:
        sys.argv, sys.path[0] = args, os.path.dirname(args[0])
        runpy.run_path(args[0], run_name="__main__")


if __name__ == "__main__":
    main()
