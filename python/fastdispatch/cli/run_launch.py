"""A command that ``fastdispatch run`` starts: its signals and its status. Not imported before a recorded program."""

import ctypes
import os
import signal
import subprocess
from collections.abc import Sequence

#: Signals that are passed on to the command.
_PASSED = {signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2}

_SI_KERNEL = 128  # of a signal from the terminal, which the command has received too
_PR_SET_PDEATHSIG = 1


def status_of(command: Sequence[str]) -> int:
    """Run a command and return its status, negative for a signal. Signals to this process are passed on to it; it gets
    SIGTERM if this process is killed."""
    awaited = {*_PASSED, signal.SIGCHLD}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, awaited)
    process_control = ctypes.CDLL(None).prctl

    def prepare() -> None:
        process_control(_PR_SET_PDEATHSIG, signal.SIGTERM)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)

    try:
        with subprocess.Popen(command, preexec_fn=prepare) as process:
            while process.poll() is None:
                came = signal.sigwaitinfo(awaited)
                if came.si_signo != signal.SIGCHLD and came.si_code != _SI_KERNEL:
                    process.send_signal(came.si_signo)
            return process.returncode
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def end_by_signal(number: int) -> None:
    """End this process by the signal that ended the command."""
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
